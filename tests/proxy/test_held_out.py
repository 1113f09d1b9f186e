"""Which documents are held out."""

import pytest

from trainer.proxy.held_out import Survey, digest_of, survey
from trainer.rundir.sources.documents import SourceError

MANY = [f"document {i}" for i in range(5000)]


def _held_out(documents: list[str], found: Survey | None = None) -> set[str]:
    found = found or survey(documents)
    return {document for document in documents if found.is_held_out(digest_of(document))}


def test_one_percent_is_held_out_by_hash() -> None:
    found = survey(MANY)
    assert 35 <= found.held_out_documents <= 65
    assert len(_held_out(MANY, found)) == found.held_out_documents


def test_side_of_a_document_depends_on_its_text_alone() -> None:
    half = MANY[::2]
    assert _held_out(half) == _held_out(MANY) & set(half)


def test_identical_documents_land_on_the_same_side_and_count_each() -> None:
    found = survey(MANY + MANY)
    assert found.held_out_documents == 2 * survey(MANY).held_out_documents


def test_small_source_holds_out_the_document_with_the_smallest_hash() -> None:
    documents = ["a", "b", "c"]
    assert _held_out(documents) == {min(documents, key=digest_of)}
    assert survey(documents).held_out_documents == 1


def test_copies_of_one_document_are_all_for_training() -> None:
    found = survey(["same", "same"])
    assert found.held_out_documents == 0
    assert not found.is_held_out(digest_of("same"))


def test_something_is_left_to_train_on_even_if_all_hashes_are_small() -> None:
    assert len(_held_out(sorted(_held_out(MANY)))) == 1


def test_fingerprint_tells_texts_and_their_order_apart() -> None:
    prints = {survey(texts).fingerprint for texts in (["a", "b"], ["b", "a"], ["ab"], ["a", "B"])}
    assert len(prints) == 4
    assert survey(["a", "b"]).fingerprint == survey(iter(["a", "b"])).fingerprint


def test_nothing_to_survey_is_an_error() -> None:
    with pytest.raises(SourceError, match="no text"):
        survey([])

"""Which text is held out: whole documents by rules 1, pieces by rules 2."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rundir.sources.test_pieces import prose
from trainer.proxy.held_out import MOST_HELD_OUT_SHARE, Survey, digest_of, hashed, survey
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.text_rules import text_rules

MANY = [f"document {i}" for i in range(5000)]


def _held_out(documents: list[str], found: Survey | None = None) -> set[str]:
    found = found or survey(documents)
    return {document for document in documents if digest_of(document) <= found.bound}


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
    assert digest_of("same") > found.bound


def test_something_is_left_to_train_on_even_if_all_hashes_are_small() -> None:
    assert len(_held_out(sorted(_held_out(MANY)))) == 1


def test_fingerprint_tells_texts_and_their_order_apart() -> None:
    prints = {survey(texts).fingerprint for texts in (["a", "b"], ["b", "a"], ["ab"], ["a", "B"])}
    assert len(prints) == 4
    assert survey(["a", "b"]).fingerprint == survey(iter(["a", "b"])).fingerprint


def test_nothing_to_survey_is_an_error() -> None:
    with pytest.raises(SourceError, match="no text"):
        survey([])


PIECE = 256
LARGE = [prose(seed, 60) for seed in range(200)]
SEQ_1000 = "".join(f"{number}\n" for number in range(1, 1001))


def _by_pieces(documents: list[str]) -> Survey:
    return survey(documents, piece_characters=PIECE)


def _sides(documents: list[str]) -> tuple[str, str]:
    """Training text and held-out text of a source under rules 2."""
    found = _by_pieces(documents)
    segments = [segment for document in documents for segment in found.segments(document)]
    train = "".join(text for is_held_out, text in segments if not is_held_out)
    return train, "".join(text for is_held_out, text in segments if is_held_out)


def _lines(text: str) -> set[str]:
    """Lines that are too long to be there twice by chance."""
    return {line for line in text.splitlines() if len(line) > 30}


def test_about_one_percent_of_the_text_is_held_out_by_pieces() -> None:
    train, held_out = _sides(LARGE)
    assert 0.005 < len(held_out) / len("".join(LARGE)) < 0.02
    assert len(train) + len(held_out) == len("".join(LARGE))
    assert 1 < _by_pieces(LARGE).held_out_documents < 200


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([SEQ_1000, "not much", "not much"], id="seq 1000 and a repeated line"),
        pytest.param([prose(1, 40), prose(2, 40), prose(1, 40)], id="one of two repeats"),
        pytest.param([prose(1, 4000), prose(2, 4000)], id="two books"),
        pytest.param(["a", "b", "c"], id="three letters"),
    ],
)
def test_small_source_never_loses_more_than_five_percent(documents: list[str]) -> None:
    train, held_out = _sides(documents)
    total = len("".join(documents))
    assert len(held_out) <= MOST_HELD_OUT_SHARE * total
    assert len(train) >= 0.9 * total


def test_more_than_five_percent_by_chance_is_cut_down_and_the_rest_is_trained_on_nowhere() -> None:
    """A small source that is mostly what a large one holds out."""
    _, held_out = _sides(LARGE)
    few = held_out + "".join(LARGE[:3])
    train, of_few = _sides([held_out, *LARGE[:3]])
    assert 0 < len(of_few) <= MOST_HELD_OUT_SHARE * len(few)
    assert len(train) + len(of_few) < len(few)
    assert not _lines(train) & _lines(held_out)


def test_document_in_two_sources_is_on_the_same_side_in_both() -> None:
    """Two small sources that share one document, and differ in the other: for 100 such pairs."""
    for seed in range(100):
        shared = prose(seed, 30)
        sources = [[shared, prose(1000 + seed, 9)], [prose(2000 + seed, 50), shared]]
        (train, held_out), (other_train, other_held_out) = map(_sides, sources)
        assert not _lines(train) & _lines(other_held_out)
        assert not _lines(other_train) & _lines(held_out)


def test_part_of_a_larger_document_is_on_its_side_but_for_the_ends() -> None:
    """A small source repeats a part of a large one: lines 300 to 1,700 of 2,000."""
    book = prose(5, 2000)
    part = "".join(book.splitlines(keepends=True)[300:1700])
    train, held_out = _sides([book])
    part_train, part_held_out = _sides([part])
    assert len(_lines(part_held_out)) > 5
    assert not _lines(part_held_out) & _lines(train)
    assert not _lines(part_train) & _lines(held_out)


@given(st.lists(st.text(st.sampled_from("abcdefgh \n"), min_size=1), min_size=1, max_size=8))
def test_segments_follow_each_other_in_the_document_and_none_is_blank(documents: list[str]) -> None:
    found = survey(documents, piece_characters=2)
    for document in documents:
        at = 0
        for _, text in found.segments(document):
            at = document.index(text, at) + len(text)
            assert text.strip()


def test_size_of_a_piece_is_about_the_text_of_a_row_and_nothing_by_rules_1() -> None:
    settings = parse_settings("rules = 2")
    assert text_rules(settings).piece_characters == 4 * settings.model.context
    assert text_rules(replace(settings, rules=1)).piece_characters == 0


def test_a_huge_document_can_be_given_up_at_any_of_its_pieces() -> None:
    pieces = len(hashed(prose(1, 2_000), 64))
    asked: list[None] = []

    def give_up() -> None:
        asked.append(None)
        if len(asked) == pieces // 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        survey([prose(1, 2_000)], piece_characters=64, check=give_up)
    assert len(asked) == pieces // 2 > 10

"""What a test set and a text share is found: 13 words in a row, whatever stands between them."""

from pathlib import Path

import numpy as np
import pytest

from trainer.proxy.preparation import overlap
from trainer.proxy.preparation.overlap import WORDS, Overlaps, grams_of

SHARED = "It was the best of times, it was the worst of times – it was the age"
WITHOUT = "nothing of this text stands in the other one at all, neither first nor last words of it"


@pytest.fixture
def overlaps(tmp_path: Path) -> Overlaps:
    found = [grams.hashes for grams in grams_of([f"Before. {SHARED} of wisdom".encode()])]
    path = tmp_path / "grams.bin"
    path.write_bytes(np.unique(np.concatenate(found)).tobytes())
    return Overlaps([path])


def _found(overlaps: Overlaps, *texts: str) -> list[list[str]]:
    documents = [text.encode() for text in texts]
    return [
        [document[begin:end].decode() for begin, end in spans]
        for document, spans in zip(documents, overlaps.spans(documents), strict=True)
    ]


def test_a_copy_is_found_with_other_case_punctuation_and_line_breaks(overlaps: Overlaps) -> None:
    other = SHARED.upper().replace(",", " “;”\n").replace("–", "\u2014")
    none, some = _found(overlaps, WITHOUT, f"é: {other} of folly")
    assert none == []
    assert some[0].startswith("IT WAS THE BEST")
    assert some[-1].endswith("THE AGE of")


def test_twelve_words_in_a_row_are_no_copy(overlaps: Overlaps) -> None:
    words = SHARED.replace(" –", "").split()
    assert _found(overlaps, " ".join(words[:12]) + " other") == [[]]
    assert _found(overlaps, " ".join(words[:13]) + " other") != [[]]


def test_no_copy_goes_from_one_document_into_the_next(overlaps: Overlaps) -> None:
    half = len(SHARED) // 2
    assert _found(overlaps, SHARED[:half], SHARED[half:]) == [[], []]


@pytest.mark.parametrize("chunk", [128, 257, 1000])
def test_a_text_of_many_chunks_has_the_same_as_one_of_one(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{WITHOUT} {n} {SHARED} {n}".encode() for n in range(8)] + ["ü".encode() * 300]
    whole = np.concatenate([grams.hashes for grams in grams_of(texts)])
    monkeypatch.setattr(overlap, "_CHUNK_BYTES", chunk)
    cut = np.concatenate([grams.hashes for grams in grams_of(texts)])
    n_words = sum(len(text.replace("–".encode(), b"").split()) for text in texts[:-1])
    assert len(whole) == n_words - 8 * (WORDS - 1)
    assert np.array_equal(cut, whole)


def test_a_set_of_texts_too_short_for_13_words_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "none").touch()
    assert _found(Overlaps([tmp_path / "none"]), SHARED) == [[]]

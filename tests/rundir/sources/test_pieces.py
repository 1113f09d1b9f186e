"""Pieces: cut by their own content, so that a shared passage is cut alike wherever it stands."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.rundir.sources.pieces import pieces_of

CHARACTERS = 256


def prose(seed: int, lines: int) -> str:
    """Lines of words, some of them blank."""
    chance = random.Random(seed)
    words = [f"w{number}" for number in range(400)]
    made = [" ".join(chance.choices(words, k=chance.randint(0, 14))) for _ in range(lines)]
    return "".join(line + "\n" for line in made)


@given(st.text(st.sampled_from("ab\n é"), max_size=400), st.sampled_from([1, 3, 64]))
def test_pieces_joined_are_the_text(text: str, characters: int) -> None:
    pieces = list(pieces_of(text, characters))
    assert "".join(pieces) == text
    assert all(pieces)


@pytest.mark.parametrize(
    "text",
    [prose(1, 4000), "".join(f"{n}\n" for n in range(40_000)), "one line without an end " * 8000],
)
def test_pieces_are_about_as_long_as_asked_whatever_the_lines_are(text: str) -> None:
    sizes = [len(piece) for piece in pieces_of(text, CHARACTERS)]
    assert CHARACTERS / 2 < sum(sizes) / len(sizes) <= 4 * CHARACTERS
    assert max(sizes) < 16 * CHARACTERS


def test_passage_of_a_larger_text_has_its_pieces_but_for_the_two_ends() -> None:
    text = prose(2, 2000)
    whole = set(pieces_of(text, CHARACTERS))
    for start, end in ((11, 5_000), (20_000, 43_210), (60_001, len(text))):
        passage = list(pieces_of(text[start:end], CHARACTERS))
        assert set(passage[2:-1]) <= whole
        assert len(passage) > 10

"""Pieces: cut by their own content, so that a shared passage is cut alike wherever it stands."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.rundir.sources.pieces import PieceCutter, longest_line, pieces_of

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


def cut_line_by_line(text: str, characters: int) -> list[str]:
    """As a file is cut that comes a line at a time, which earlier versions did with all text."""
    cutter, pieces, piece = PieceCutter(characters), [], ""
    longest = longest_line(characters)
    for line in re.findall(rf"[^\n]{{{longest}}}|[^\n]*\n|[^\n]+", text):
        piece += line
        if cutter.ends_after(line):
            pieces.append(piece)
            piece = ""
    return [*pieces, piece] if piece else pieces


@given(st.text(st.sampled_from("ab\n é\r\u2028"), max_size=600), st.sampled_from([1, 2, 5, 64]))
def test_a_text_is_cut_as_it_is_line_by_line(text: str, characters: int) -> None:
    assert list(pieces_of(text, characters)) == cut_line_by_line(text, characters)


@pytest.mark.parametrize("text", [prose(3, 3000), "x" * 5000 + "\n" + "y" * 1024 + "\nz"])
def test_a_long_text_is_cut_as_it_is_line_by_line(text: str) -> None:
    assert list(pieces_of(text, CHARACTERS)) == cut_line_by_line(text, CHARACTERS)

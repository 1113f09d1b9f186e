"""The score: what loops and noise get, what prose gets, and that nothing breaks it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.proxy.score import score_text

PROSE = """
The morning was cold when the ship left the harbour, and nobody on deck said much. A thin fog lay
over the water, so that the lights of the town seemed to hang in the air long after the houses
themselves had gone. Martha stood by the rail with her hands in her pockets. She had promised her
brother that she would write as soon as they reached the island, but she already knew the letter
would be short. There was little to tell. The captain, a heavy man with a grey beard, walked past
twice without looking at her; the second time he stopped, cleared his throat, and asked whether
she had eaten anything today. She told him she hadn't. He nodded as though this settled some
private argument and went below, returning a few minutes later with bread, cheese and a mug of
coffee that was far too hot to drink. "Eat," he said. "It will be rough after noon." He was right
about that. By two o'clock the wind had turned to the west and the waves came in long grey rows,
each one lifting the bow and letting it fall again with a sound like a door slamming somewhere
deep inside the hull. Most of the passengers stayed in their cabins. Martha found that she felt
better outside, holding on to a rope and watching the horizon tilt. An old woman joined her,
wrapped in three shawls, and began to talk about her sons, who were fishermen, and about the
winter when the whole bay had frozen and people walked across it to the church on the other side.
It was, she said, the only time she had ever been early for anything.
"""
WORDS = PROSE.split()
CODE = """
def read(path: str) -> list[int]:
    with open(path) as file:
        return [int(line.strip(), 16) for line in file if not line.startswith("#")]
"""


def test_prose_scores_high_in_every_part() -> None:
    parts = score_text(PROSE)
    assert parts.score > 90
    assert parts.bigram_diversity > 30
    assert parts.trigram_diversity > 30
    assert parts.english_words > 18
    assert parts.character_diversity > 8


@pytest.mark.parametrize("loop", ["region ", "the region ", "region", "Region, ", "region of the "])
def test_region_region_region_scores_far_under_the_threshold(loop: str) -> None:
    assert score_text(loop * 420).score < 8


@pytest.mark.parametrize("words", [5, 10, 20, 40, 60])
def test_loop_of_any_sentence_is_under_the_threshold(words: int) -> None:
    assert score_text((" ".join(WORDS[:words]) + " ") * (300 // words)).score < 30


def test_noise_in_bytes_is_under_the_threshold() -> None:
    noise = random.Random(0).randbytes(1200)
    assert score_text(noise.decode(errors="replace")).score < 20
    assert score_text(noise.decode("latin-1")).score < 30


def test_noise_in_letters_has_no_english_words() -> None:
    chooser = random.Random(0)
    noise = "".join(chooser.choice("abcdefghijklmnopqrstuvwxyz      ") for _ in range(1200))
    assert score_text(noise).english_words < 2


def test_other_languages_and_code_are_above_the_threshold() -> None:
    german = (
        "Der Morgen war kalt, als das Schiff den Hafen verließ, und niemand an Deck sagte viel;"
        " ein dünner Nebel lag über dem Wasser, so dass die Lichter der Stadt zu schweben schienen"
    )
    assert score_text(german).score > 60
    assert score_text(CODE).score > 60


@pytest.mark.parametrize("text", ["", "\n\n\n", "\ufffd" * 400, "\x00\x1b[31m\x00"[:1]])
def test_text_without_words_scores_0(text: str) -> None:
    assert score_text(text).score == 0


def test_short_text_is_not_taken_for_coherent() -> None:
    scores = [score_text(" ".join(WORDS[:n])).score for n in (1, 3, 6, 20)]
    assert scores == sorted(scores)
    assert scores[0] < 5
    assert scores[2] < 30
    assert scores[3] > 90


def test_case_and_kind_of_apostrophe_do_not_matter_to_the_words() -> None:
    plain, fancy = score_text(PROSE.replace("’", "'")), score_text(PROSE.upper().replace("'", "’"))
    assert fancy.english_words == plain.english_words
    assert fancy.bigram_diversity == plain.bigram_diversity


@given(text=st.text() | st.binary().map(lambda data: data.decode(errors="replace")))
def test_any_text_has_four_parts_within_their_bounds(text: str) -> None:
    parts = score_text(text)
    assert 0 <= parts.bigram_diversity <= 35
    assert 0 <= parts.trigram_diversity <= 35
    assert 0 <= parts.english_words <= 20
    assert 0 <= parts.character_diversity <= 10
    assert 0 <= parts.score <= 100
    assert parts.score == pytest.approx(
        parts.bigram_diversity
        + parts.trigram_diversity
        + parts.english_words
        + parts.character_diversity
    )

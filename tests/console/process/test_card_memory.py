"""What the card's tool says, read; and tools that say nothing."""

import sys

from console.process.card_memory import CardMemory, parse_card_memory
from console.process.launch import output_of

CARDS = "0, GPU-aa, NVIDIA H200, 100000\n1, GPU-bb, NVIDIA H200, 90000\n"
PROCESSES = "GPU-bb, 4711, 2048\nGPU-aa, 12, 1024\n"
MIB = 2**20


def test_card_is_the_one_that_the_process_uses() -> None:
    assert parse_card_memory(CARDS, PROCESSES, 4711, 0) == CardMemory(
        card="NVIDIA H200", used_bytes=2048 * MIB, free_bytes=90000 * MIB
    )


def test_without_the_process_it_is_the_one_that_is_asked_for_or_the_only_one() -> None:
    asked = parse_card_memory(CARDS, "", 4711, 1)
    assert asked == CardMemory(card="NVIDIA H200", used_bytes=None, free_bytes=90000 * MIB)
    assert parse_card_memory(CARDS, "", 4711, None) is None, "which of two?"
    only = parse_card_memory(CARDS.splitlines()[0], "", None, None)
    assert only is not None
    assert only.free_bytes == 100000 * MIB


def test_figures_that_the_card_does_not_give_are_unknown() -> None:
    cards, processes = "0, GPU-aa, A card, [N/A]\n", "GPU-aa, 7, [N/A]\n"
    assert parse_card_memory(cards, processes, 7, None) == CardMemory(
        card="A card", used_bytes=None, free_bytes=None
    )
    for words in ("", "No devices were found\n", "a, b, c\n"):
        assert parse_card_memory(words, words, 7, None) is None


def test_tool_that_is_not_there_or_fails_says_nothing() -> None:
    assert output_of(["/nowhere/tool"]) == ""
    assert output_of([sys.executable, "-c", "print('half'); raise SystemExit(9)"]) == ""
    assert output_of([sys.executable, "-c", "print('all')"]) == "all\n"

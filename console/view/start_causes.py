"""Who or what started a run's trainers, from what happened before each start; pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from console.view.run_view import Event, EventKind

_LAUNCH, _RESTART = "launch: ", "restart: "
"""How an operator's event says that a console started the trainer, and that it did by itself."""
_HELD = "held: "
_OF_HISTORY = re.compile(r"start \d+")
"""A start that only the history tells: at its first step, where the log names the one before."""
_PHASE = re.compile(r"phase \d+")


def with_causes(events: Sequence[Event]) -> list[Event]:
    """The events, oldest first, each start with its cause as far as one is known, and in place of
    the console's own word of it.
    """
    pivots = _first_words(events, EventKind.PIVOT)
    forks = _first_words(events, EventKind.FORK)
    told: list[Event] = []
    n_before, has_started = 0, False
    for event in events:
        if event.kind is EventKind.START:
            before = told[n_before:]
            cause = _cause(event, before, pivots, forks, is_first=not has_started)
            told[n_before:] = [each for each in before if not _is_launch(each)]
            told.append(replace(event, text=f"{cause}: {event.text}") if cause else event)
            n_before, has_started = len(told), True
        else:
            told.append(event)
    return told


def _cause(
    start: Event,
    before: Sequence[Event],
    pivots: Mapping[int, str],
    forks: Mapping[int, str],
    *,
    is_first: bool,
) -> str:
    """`before`: what happened since the start before; `is_first`: the first of its log."""
    launch = next((each for each in reversed(before) if _is_launch(each)), None)
    by = f" by {launch.by}" if launch is not None and launch.by else ""
    if launch is not None and launch.text.startswith(_RESTART):
        return f"restarted after a crash by the console of {launch.by}"
    is_of_history = _OF_HISTORY.match(start.text) is not None
    first = (start.step or 0) + (0 if is_of_history else 1)
    is_held = any(each.kind is EventKind.END and each.text.startswith(_HELD) for each in before)
    is_crashed = any(each.kind is EventKind.CRASH for each in before)
    if first in pivots and (is_of_history or is_held):
        return f"pivot to {pivots[first]}{by}"
    if first in forks and is_first:
        return f"{forks[first]}, started{by}" if by else forks[first]
    after = " after a crash" if is_crashed else ""
    return f"started{after}{by}" if after or by else ""


def _is_launch(event: Event) -> bool:
    return event.kind is EventKind.OPERATOR and event.text.startswith((_LAUNCH, _RESTART))


def _first_words(events: Sequence[Event], kind: EventKind) -> dict[int, str]:
    """By step; `phase 2`, `fork of v3`."""
    found = {}
    for event in events:
        words = event.text.partition(":")[0]
        is_phase = kind is not EventKind.PIVOT or _PHASE.fullmatch(words)
        if event.kind is kind and event.step is not None and is_phase:
            found[event.step] = words
    return found

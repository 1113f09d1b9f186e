"""What a verb of the command line is, and how it answers: data on stdout, words on stderr."""

import argparse
import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from console.operations.actions import action_of_verb
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control, is_utf_8, shown

HEALTHY = 0
NEEDS_ATTENTION = 1
NOT_RUNNING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One verb: its name, as it is typed, and what it does."""

    name: str
    act: Callable[[RunDirectory, argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    act_on_many: Callable[[Sequence[RunDirectory], argparse.Namespace], int] | None = None
    """What it does where a directory of runs is named; `None`: it asks for one of them."""

    @property
    def help(self) -> str:
        """What it does, prints, and exits with."""
        return action_of_verb(self.name).verb_help


def print_json(value: Any) -> None:
    """A document for scripts, on stdout; what UTF-8 can't hold is spelled out in it."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:  # a name of a file that is no UTF-8
        text = orjson.dumps(_spelled(value), option=orjson.OPT_INDENT_2)
    print(text.decode())


def _spelled(value: Any) -> Any:
    if isinstance(value, str):
        return value if is_utf_8(value) else shown(value)
    if isinstance(value, Mapping):
        return {_spelled(key): _spelled(each) for key, each in value.items()}
    return [_spelled(each) for each in value] if isinstance(value, list | tuple) else value


def say(message: str) -> None:
    """A line for a person, on stderr; that nobody reads it is no reason to stop."""
    with contextlib.suppress(BrokenPipeError):
        print(escape_control(message), file=sys.stderr, flush=True)

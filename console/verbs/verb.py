"""What a verb of the command line is, and how it answers: data on stdout, words on stderr."""

import argparse
import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

from console.operations.actions import action_of_verb
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control

HEALTHY = 0
NEEDS_ATTENTION = 1
NOT_RUNNING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One verb: its name, as it is typed, and what it does."""

    name: str
    act: Callable[[RunDirectory, argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None]

    @property
    def help(self) -> str:
        """What it does, prints, and exits with."""
        return action_of_verb(self.name).verb_help


def say(message: str) -> None:
    """A line for a person, on stderr; that nobody reads it is no reason to stop."""
    with contextlib.suppress(BrokenPipeError):
        print(escape_control(message), file=sys.stderr, flush=True)

"""What a verb of the command line is, and how it answers: data on stdout, words on stderr."""

import argparse
import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control
from trainer.rundir.outcomes import Exit

HEALTHY = 0

NEEDS_ATTENTION = 1

USAGE = int(Exit.USAGE)

NOT_RUNNING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One verb: what the command line says of it, and what it does."""

    help: str
    act: Callable[[RunDirectory, argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None]


def say(message: str) -> None:
    """A line for a person, on stderr; that nobody reads it is no reason to stop."""
    with contextlib.suppress(BrokenPipeError):
        print(escape_control(message), file=sys.stderr, flush=True)

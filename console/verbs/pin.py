"""`andrea-console pin`: keep a checkpoint whatever thins; without a step, which are pinned."""

import argparse

from console.operations.operations import Operations
from console.verbs.verb import NEEDS_ATTENTION, Verb, say
from trainer.rundir.checkpoints.pins import read_pins
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control
from trainer.rundir.outcomes import SettingsError


def pin_checkpoint(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Pin or unpin a step's checkpoint; without a step print each pinned step and its note."""
    step, note = arguments.step, arguments.note
    if step is None:
        if note is not None or arguments.remove:
            raise SettingsError("give the step of the checkpoint, too")
        for pinned, words in sorted(read_pins(run).items()):
            print(f"{pinned}\t{escape_control(words, keep_newlines=False)}".rstrip())
        return 0
    operations = Operations(run)
    outcome = operations.unpin((step,)) if arguments.remove else operations.pin((step,), note)
    say(outcome.message)
    return 0 if outcome.ok else NEEDS_ATTENTION


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("step", metavar="STEP", type=int, nargs="?", help="of the checkpoint")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--note", metavar="TEXT", help="a line on it; it replaces the one before")
    what.add_argument("--remove", action="store_true", help="unpin it")


PIN = Verb(name="pin", act=pin_checkpoint, add_arguments=_add_arguments)

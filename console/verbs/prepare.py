"""`andrea-console prepare`: make the tokens of the run's sources, and train nothing."""

import argparse

from console.process.launch import become_trainer
from console.verbs.verb import Verb
from trainer.rundir.layout import RunDirectory


def prepare(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Go on as `andrea-trainer prepare`, with its exit codes."""
    become_trainer(run, "prepare")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


PREPARE = Verb(
    name="prepare",
    act=prepare,
    add_arguments=_add_arguments,
)

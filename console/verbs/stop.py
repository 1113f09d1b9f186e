"""`andrea-console stop`: save and end; the newest checkpoint's path on stdout."""

import argparse

from console.follow.follower import Follower
from console.operations.operations import Operations
from console.verbs.verb import NEEDS_ATTENTION, Verb, say
from console.verbs.waiting import add_timeout, look_until, refused
from trainer.rundir.layout import RunDirectory


def stop(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Ask the trainer to save and end, wait until it is gone, print the newest checkpoint."""
    operations = Operations(run)
    follower = Follower(run, operations)
    outcome = operations.stop()
    say(outcome.message)
    if not outcome.ok:
        return refused(follower)
    view = look_until(follower, arguments.timeout, lambda view: not view.is_running)
    if view is None:
        say("the trainer has not ended yet; it was asked to")
        return NEEDS_ATTENTION
    say(f"{view.status.word}: {view.status.detail}")
    if view.is_lost:
        return NEEDS_ATTENTION
    if view.newest is not None:
        print(run.path / view.newest.name)
    return NEEDS_ATTENTION if view.status.word == "failed" else 0


STOP = Verb(
    name="stop",
    act=stop,
    add_arguments=add_timeout,
)

"""`andrea-console checkpoint`: a checkpoint now; its path on stdout."""

import argparse

from console.follow.follower import Follower
from console.operations.operations import Operations
from console.verbs.verb import NEEDS_ATTENTION, Verb, say
from console.verbs.waiting import add_timeout, look_until, refused
from console.view.run_view import RequestStage
from trainer.rundir.layout import RunDirectory


def checkpoint(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Ask for a checkpoint, wait until it is written, print its path."""
    operations = Operations(run)
    follower = Follower(run, operations)
    outcome = operations.checkpoint()
    say(outcome.message)
    if not outcome.ok:
        return refused(follower)
    view = look_until(follower, arguments.timeout, lambda view: not operations.requests.is_open)
    if view is not None and view.is_lost:
        say(f"{view.status.word}: {view.status.detail}")
        return NEEDS_ATTENTION
    if view is None or view.request is None:
        say("not written yet; the request stands")
        return NEEDS_ATTENTION
    say(view.request.message)
    if view.request.stage is not RequestStage.WRITTEN or view.request.step is None:
        return NEEDS_ATTENTION
    print(run.path / next(row.name for row in view.checkpoints if row.step == view.request.step))
    return 0


CHECKPOINT = Verb(
    name="checkpoint",
    act=checkpoint,
    add_arguments=add_timeout,
)

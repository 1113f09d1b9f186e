"""`andrea-console fork`: a sibling run from a checkpoint; its path on stdout, words on stderr."""

import argparse
import time
from pathlib import Path

import orjson

from console.formatting import size, steps
from console.verbs.verb import Verb, say
from trainer.rundir.actions import log_action
from trainer.rundir.config.policy_change import load_policy_file
from trainer.rundir.fork import make_fork
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import quoted
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.reading import read_file


def fork(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Make the fork and print where it is; nothing is started."""
    settings = dict(arguments.set)
    if len(settings) < len(arguments.set):
        raise SettingsError("--set: a setting is given twice")
    made = make_fork(
        run,
        arguments.at,
        arguments.name,
        settings=settings,
        change=None if arguments.policy is None else load_policy_file(arguments.policy),
        t=time.time(),
    )
    facts = orjson.loads(read_file(made.fork))
    message = (
        f"forked from {run.name} at step {steps(arguments.at)} as {made.name}:"
        f" {size(facts['bytes'])} by {facts['cloned_by']}, sha256 {facts['sha256'][:12]}"
    )
    if how := facts["tokens_cloned_by"]:
        message += f"; {size(facts['tokens_bytes'])} of tokens by {how}"
    log_action(made.actions, "fork", message, ok=True)
    say(f"{message}; `andrea-console {quoted(made.path)} --launch` trains it")
    print(made.path)
    return 0


def _setting(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not (name and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return name, value


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--at", type=int, required=True, metavar="STEP", help="the checkpoint to stand on"
    )
    parser.add_argument("--name", required=True, help="of the new run, made beside this one")
    parser.add_argument(
        "--set",
        type=_setting,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another value of a setting, as optimizer.lr=1e-4; may be repeated",
    )
    parser.add_argument(
        "--policy", type=Path, metavar="FILE", help="another policy: a new phase, as by a pivot"
    )


FORK = Verb(
    name="fork",
    act=fork,
    add_arguments=_add_arguments,
)

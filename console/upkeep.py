"""The verbs for a run's files: verify them, thin them, put its trainer under systemd."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import chain

import orjson

from console import formatting, service
from console.operations import Operations
from console.process import own_command, own_environment
from console.replay import replay
from console.report import NEEDS_ATTENTION
from console.verb import say
from trainer.rundir.checkpoint import checkpoint_bytes
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SaveError, SettingsError
from trainer.rundir.retention import Plan
from trainer.rundir.run_toml import load_settings
from trainer.rundir.thinning import nonfinite_steps_of, plan_of
from trainer.rundir.verification import Finding, verify


def verify_run(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Print each finding as it comes; exit 0 if nothing is wrong, else 1."""
    found: list[Finding] = []
    for finding in _findings(run, arguments.replay):
        found.append(finding)
        if not arguments.json:
            _show(finding)
    wrong = [finding for finding in found if not finding.ok]
    if arguments.json:
        report = {
            "run": run.name,
            "ok": not wrong,
            "findings": [asdict(finding) for finding in found],
        }
        print(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode())
    else:
        print(f"{len(found)} checked, {len(wrong)} wrong", file=sys.stderr)
    return NEEDS_ATTENTION if wrong else 0


def _findings(run: RunDirectory, span: tuple[int, int] | None) -> Iterator[Finding]:
    try:
        yield from chain(verify(run), replay(run, *span) if span else ())
    except OSError as error:
        yield Finding(part="disk", ok=False, what=str(error))


def _show(finding: Finding) -> None:
    mark = "ok   " if finding.ok else "WRONG"
    line = f"{mark} {finding.part:<10} {finding.what}"
    print(formatting.escape_control(line), flush=True)


def add_verify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts")
    parser.add_argument(
        "--replay",
        metavar="A..B",
        type=_span,
        help="train steps A to B again in a scratch directory beside the run, and compare",
    )


def _span(text: str) -> tuple[int, int]:
    first, _, last = text.partition("..")
    if not (first.isdecimal() and last.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not A..B, as 100..200")
    return int(first), int(last)


def thin_run(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Print what may go, one path a line; delete it only with `--yes`."""
    settings = load_settings(run.settings)
    wanted = {"keep_last": arguments.keep_last, "keep_every": arguments.keep_every}
    keep = replace(settings.checkpoint, **{k: v for k, v in wanted.items() if v is not None})
    if not keep.keep_last:
        raise SettingsError("checkpoint.keep_last is 0, so all are kept; give --keep-last N")
    try:
        plan = plan_of(run, settings, nonfinite_steps_of(run.loss), keep=keep)
    except OSError as error:
        raise SaveError(f"thin: {error}") from error
    for checkpoint in plan.going:
        print(checkpoint.path)
    if not arguments.yes:
        print(preview(plan), file=sys.stderr)
        return 0
    outcome = Operations(run).thin(plan)
    print(formatting.escape_control(outcome.message), file=sys.stderr)
    return 0 if outcome.ok else NEEDS_ATTENTION


def preview(plan: Plan) -> str:
    """What goes, how much that frees, and what stays for which reason."""
    if not plan.going:
        return "nothing to thin"
    why = sorted(plan.kept.items())
    kept = "\n".join(f"  step {formatting.steps(step)}: {reason}" for step, reason in why)
    return (
        f"stays:\n{kept}\n{len(plan.going)} checkpoints would go, which frees"
        f" {formatting.size(plan.freed_bytes)}; with --yes they do"
    )


def add_thin_arguments(parser: argparse.ArgumentParser) -> None:
    for name, of_what in (("last", "the last N"), ("every", "every N-th")):
        parser.add_argument(
            f"--keep-{name}", metavar="N", type=int, help=f"keep {of_what} (default: run.toml's)"
        )
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument("--dry-run", action="store_true", help="only show (the default)")
    answer.add_argument("--yes", action="store_true", help="delete them")


def print_service(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Print the unit on stdout, and on stderr what to do with it."""
    settings = load_settings(run.settings)
    if settings.trainer.command:
        raise SettingsError("service: trainer.command is not andrea-trainer; write its own unit")
    text = service.unit_text(
        run,
        own_command(run),
        own_environment(),
        checkpoint_bytes=checkpoint_bytes(settings.model.n_params),
        is_system=arguments.system,
    )
    print(text, end="")
    path = service.unit_path(run, is_system=arguments.system)
    systemctl = "systemctl" if arguments.system else "systemctl --user"
    say(
        f"write it to {path}, then: {systemctl} daemon-reload; {systemctl} enable --now {path.name}"
    )
    if settings.trainer.restart:
        say(
            f"set trainer.restart = false in {run.settings}: with this unit it is systemd that"
            " starts a crashed trainer again, and the console would do it too"
        )
    return 0


def add_service_arguments(parser: argparse.ArgumentParser) -> None:
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--user", action="store_true", help="of the user's manager (the default)")
    whose.add_argument("--system", action="store_true", help="of the system, for the present user")

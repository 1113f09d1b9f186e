"""`andrea-console thin`: which checkpoints may go; with --yes they do."""

import argparse
import sys
from dataclasses import replace

from console import formatting
from console.operations.operations import Operations
from console.verbs.verb import NEEDS_ATTENTION, Verb
from trainer.rundir.checkpoints.retention import Plan
from trainer.rundir.checkpoints.thinning import nonfinite_steps_of, plan_of
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control
from trainer.rundir.outcomes import SaveError, SettingsError


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
    print(escape_control(outcome.message), file=sys.stderr)
    return 0 if outcome.ok else NEEDS_ATTENTION


def preview(plan: Plan) -> str:
    """What goes, how much that frees, and what stays for which reason."""
    skipped = "".join(f"\n  {skip.path.name}: skipped: {skip.reason}" for skip in plan.skipped)
    if not plan.going:
        return f"nothing to thin{skipped}"
    why = sorted(plan.kept.items())
    kept = "\n".join(f"  step {formatting.steps(step)}: {reason}" for step, reason in why)
    return (
        f"stays:\n{kept}{skipped}\n{formatting.count(len(plan.going), 'checkpoint')} would go,"
        f" which frees"
        f" {formatting.size(plan.freed_bytes)}; with --yes they do"
    )


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, of_what in (("last", "the last N"), ("every", "every N-th")):
        parser.add_argument(
            f"--keep-{name}", metavar="N", type=int, help=f"keep {of_what} (default: run.toml's)"
        )
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument("--dry-run", action="store_true", help="only show (the default)")
    answer.add_argument("--yes", action="store_true", help="delete them")


THIN = Verb(
    name="thin",
    act=thin_run,
    add_arguments=_add_arguments,
)

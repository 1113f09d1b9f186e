"""Going on from a checkpoint whose loss history is wholly lost: the weights are kept, it is not.

The history has a record a step, from which a resume takes where each source goes on, the bandit's
rewards and the loss EMA. Where there is none any more, each step before the checkpoint gets a
record that says so (`lost`), and nothing else: the checkpoint is covered again, and such steps
count for nothing. Without any record the sources begin at their first rows, bandit and EMA anew.
"""

from dataclasses import dataclass
from pathlib import Path

from trainer.rundir.actions import log_action
from trainer.rundir.atomic import replace_keeping
from trainer.rundir.checkpoints.checkpoint import Checkpoint, Inventory, list_checkpoints
from trainer.rundir.checkpoints.cloning import digest_of
from trainer.rundir.checkpoints.coverage import has_all_to, how_to_go_on
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.records.all_audits import all_audits
from trainer.rundir.records.record_file import canonical, load_records
from trainer.rundir.records.record_lines import Record, encode_record
from trainer.rundir.state import read_state


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """What a history was given up for."""

    n_lost: int
    """Steps without a record."""
    base: Checkpoint
    """What the next start resumes from."""
    kept_as: Path | None
    """The file that stood in the history's place."""


def give_up_history(run: RunDirectory) -> GivenUp:
    """Let the next start go on from the newest checkpoint that is known to be this run's.

    The caller holds the trainer's lock. Raises `HistoryError` where there is no checkpoint, or one
    that the history still covers, `SettingsError` and `OSError`; nothing is changed then.
    """
    n_params = load_settings(run.settings).model.n_params
    listed = list_checkpoints(run.path, n_params)
    known = _known(run)
    covered = [c for c in listed.checkpoints if has_all_to(c.step, sorted(known))]
    if covered:
        how = how_to_go_on(covered, listed.checkpoints[len(covered) :])
        raise HistoryError(f"{run.loss}: is not lost: it covers {covered[-1].path.name}.{how}")
    base = _own(run, listed)
    lost = {"attempt": _attempt(run), "phase": run.current_phase(), "lost": True}
    steps = range(1, base.step + 1)
    lines = (encode_record(known.get(step) or {"step": step, **lost}) for step in steps)
    kept = replace_keeping(run.loss, b"[\n" + b",\n".join(lines) + b"\n]\n", "lost")
    log_action(run.actions, "give up history", f"goes on from {base.path.name}", step=base.step)
    return GivenUp(base=base, kept_as=kept, n_lost=sum(step not in known for step in steps))


def _known(run: RunDirectory) -> dict[int, Record]:
    try:
        return canonical(load_records(run.loss).records)
    except HistoryError:  # something else is there
        return {}


def _own(run: RunDirectory, listed: Inventory) -> Checkpoint:
    """The newest that is whole as audited; of a run without audits the newest there is."""
    told = {audit.get("checkpoint"): audit.get("sha256") for audit in all_audits(run)}
    for checkpoint in reversed(listed.checkpoints):
        if not told or told.get(checkpoint.path.name) == digest_of(checkpoint.path):
            return checkpoint
    raise HistoryError(f"{run.path}: there is no checkpoint that is whole as its audit tells")


def _attempt(run: RunDirectory) -> int:
    state = read_state(run.state)
    return max(state.attempt, 1) if state else 1

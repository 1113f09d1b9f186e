"""What a pivot under way has come to, as facts for a person."""

from dataclasses import dataclass

from console import formatting
from trainer.rundir.pivot.journal import HoldMode, Pivot, Stage, next_boundary
from trainer.rundir.records.record_file import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One fact of a pivot under way, for a person."""

    stage: Stage
    """The stage that is reached, or waited for."""
    is_done: bool
    """False while it is waited for: the same stage comes again."""
    message: str
    step: int | None = None
    """Where the run is, while the boundary is waited for."""


def waiting(pivot: Pivot, step: int, every: int) -> Progress:
    """The run is at `step` and goes on to the boundary."""
    if pivot.mode is HoldMode.NOW:
        where = "the step under way"
    else:
        # the boundary itself, while its checkpoint is written
        where = (
            f"step {formatting.steps(next_boundary(max(step - 1, pivot.requested_step), every))}"
        )
    message = f"waiting for the checkpoint of {where}"
    return Progress(stage=Stage.HELD, is_done=False, message=message, step=step)


def requested(pivot: Pivot, where: str = "") -> Progress:
    """The journal is written; `where` the run is to be held, if that is known."""
    message = f"requested at step {formatting.steps(pivot.requested_step)}"
    if where:
        message += f", to be held {where}"
    return Progress(stage=Stage.REQUESTED, is_done=True, message=message)


def hold_ahead(mode: HoldMode, step: int, every: int) -> str:
    """Where a trainer at `step` will hold."""
    if mode is HoldMode.NOW:
        return "after the step under way"
    return f"at step {formatting.steps(next_boundary(step, every))}"


def hold_as_it_is(newest_step: int) -> str:
    """Where a stopped run is held whose newest checkpoint is taken."""
    return f"where it stands: at the checkpoint of step {formatting.steps(newest_step)}"


def held(pivot: Pivot) -> Progress:
    """No trainer runs; the boundary's checkpoint and its audit."""
    facts = pivot.held
    if facts is None:
        raise AssertionError("held without its facts")
    score = "no audit" if facts.score is None else f"score {facts.score:.1f}"
    val_loss = "" if facts.val_loss is None else f", val_loss {facts.val_loss:.4f}"
    message = (
        f"held at step {formatting.steps(facts.step)}: {facts.checkpoint},"
        f" {formatting.size(facts.bytes)}, {score}{val_loss}"
    )
    return Progress(stage=Stage.HELD, is_done=True, message=message)


def archived(pivot: Pivot, folder: str) -> Progress:
    """What lies in the archive now."""
    files = ", ".join(f"{name} ({formatting.size(n)})" for name, n in pivot.archived.items())
    message = f"archived to archive/{folder}: {files}"
    return Progress(stage=Stage.ARCHIVED, is_done=True, message=message)


def committed() -> Progress:
    """`run.toml` is the new one."""
    return Progress(stage=Stage.COMMITTED, is_done=True, message="new settings committed")


def restarted(pivot: Pivot, first: Record) -> Progress:
    """The first loss of the new phase beside the last of the old."""
    last = (pivot.held.last_record if pivot.held is not None else None) or {}
    message = (
        f"phase {pivot.phase + 1} runs: loss {_loss(first)} at step {first.get('step')},"
        f" beside {_loss(last)} at step {last.get('step')}, the last of phase {pivot.phase}"
    )
    return Progress(stage=Stage.RESTARTED, is_done=True, message=message)


def _loss(record: Record) -> str:
    loss = record.get("loss")
    return f"{loss:.4f}" if isinstance(loss, float) else "unknown"

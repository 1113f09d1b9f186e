"""From what was read of a run at one moment to the RunView of that moment; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from console import formatting
from console.health.verdict import NOT_JUDGED, Health
from console.process.presence import Presence
from console.view.alarms import Progress, alarms_of
from console.view.disk_forecast import Room, coarse, full_in_seconds, steps_until_full
from console.view.pace import UNKNOWN_PACE, Pace, eta_seconds, patience_seconds
from console.view.run_view import (
    ArmRow,
    Audit,
    CheckpointRow,
    Event,
    LossPoint,
    Mark,
    Refusal,
    RunView,
)
from console.view.status import Evidence, doing_of, status_of
from trainer.rundir.checkpoints.checkpoint import INT32_MAX, Skipped, checkpoint_bytes
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.state import Replay, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was read; `None` for what could not be."""

    run: RunDirectory
    presence: Presence
    state: State | None = None
    is_state_current: bool = False
    """Whether the state is of the trainer that runs, or if none does, of the last that did."""
    takes_signals: bool = False
    is_child_alive: bool = False
    child_exit: int | None = None
    settings: Settings | None = None
    is_complete: bool = True
    history_version: int = 0
    n_records: int = 0
    last: LossPoint | None = None
    """The newest record."""
    shown: LossPoint | None = None
    """The record of the step that is shown."""
    last_step_at: float | None = None
    """Wall clock, seconds, of the newest record."""
    attempt: int | None = None
    """Of the newest record."""
    phase: int | None = None
    marks: tuple[Mark, ...] = ()
    events: tuple[Event, ...] = ()
    pace: Pace = UNKNOWN_PACE
    audits: tuple[Audit, ...] = ()
    phase_audits: tuple[Audit, ...] = ()
    checkpoints: tuple[CheckpointRow, ...] = ()
    checkpoint_bytes: int = 0
    skipped: tuple[Skipped, ...] = ()
    pins_problem: str = ""
    refusals: tuple[Refusal, ...] = ()
    """What the next start would refuse."""
    health: Health = NOT_JUDGED
    warnings: tuple[str, ...] = ()
    judged_alarms: Mapping[str, int] = field(default_factory=dict)
    """Of `RunView`."""
    free_bytes: int | None = None
    free_inodes: int | None = None
    log_tail: tuple[str, ...] = ()
    idle_seconds: float = 0.0
    """How long nothing has moved."""
    notes: tuple[str, ...] = ()
    kills: Mapping[str, int] = field(default_factory=dict)
    """Of `Evidence`."""
    outlook: str = ""
    """What this console does about a crash."""


def reduce(facts: Facts) -> RunView:
    """All that follows from the facts, but for the open request, which has a memory."""
    state = facts.state or State()
    holder = facts.presence.holder
    step, total_steps = step_of_run(facts), total_steps_of(facts)
    is_running, progress = facts.presence.is_running, _progress_of(facts, step)
    room = Room(
        free_bytes=coarse(facts.free_bytes),
        free_inodes=coarse(facts.free_inodes),
        checkpoint_bytes=_size_of_one(facts),
    )
    return RunView(
        name=facts.run.name,
        path=facts.run.path,
        status=status_of(evidence_of(facts)),
        is_running=is_running,
        pid=holder.pid or None if holder and is_running else None,
        host=holder.host if holder and is_running else "",
        takes_signals=is_running and facts.takes_signals,
        step=step,
        total_steps=total_steps,
        last=facts.shown,
        steps_per_minute=facts.pace.steps_per_minute if is_running else None,
        eta_seconds=eta_seconds(step, total_steps, facts.pace) if is_running else None,
        attempt=state.attempt or facts.attempt,
        phase=max(state.phase, facts.phase or 1),
        phase_start_step=max(0, state.phase_start_step),
        checkpoints=facts.checkpoints,
        checkpoint_bytes=facts.checkpoint_bytes,
        skipped=facts.skipped,
        pins_problem=facts.pins_problem,
        checkpoint_every=facts.settings.checkpoint.every if facts.settings else None,
        audits=facts.audits,
        arms=tuple(ArmRow(name=name, state=arm) for name, arm in state.arms.items()),
        zombies=state.zombies,
        room=room,
        full_in_seconds=_full_in(facts, room, step, total_steps),
        health=facts.health,
        overdue_since=progress.overdue_since if progress is not None else None,
        alarms=_alarms_of(facts, room, progress),
        warnings=facts.warnings,
        judged_alarms=facts.judged_alarms,
        refusals=facts.refusals,
        state=state,
        marks=facts.marks,
        events=facts.events,
        history_version=facts.history_version,
        n_records=facts.n_records,
        is_complete=facts.is_complete,
        log_tail=facts.log_tail,
        notes=(*facts.notes, *state.notes, *_note_of_replay(state.replay, step)),
    )


def evidence_of(facts: Facts) -> Evidence:
    """What the status is drawn from."""
    evidence = Evidence(
        presence=facts.presence,
        state=facts.state,
        is_state_current=facts.is_state_current,
        is_child_alive=facts.is_child_alive,
        child_exit=facts.child_exit,
        has_records=facts.last is not None,
        last_step_at=facts.last_step_at,
        newest_checkpoint_step=facts.checkpoints[-1].step if facts.checkpoints else None,
        last_log_line=facts.log_tail[-1] if facts.log_tail else "",
        kills=facts.kills,
        outlook=facts.outlook,
    )
    patience = patience_seconds(
        doing_of(evidence), facts.pace, has_stepped=facts.last is not None and not _is_older(facts)
    )
    is_stalled = facts.is_complete and facts.idle_seconds > patience
    return replace(evidence, is_stalled=is_stalled, patience_seconds=patience)


def step_of_run(facts: Facts) -> int:
    """Where the run stands: the state's step, or the newest record's if that is newer.

    While steps are trained again after a crash, the records are those of the attempt before.
    """
    told = facts.state.step if facts.state and 0 <= facts.state.step <= INT32_MAX else 0
    if facts.last is None:
        return told
    return told if _is_older(facts) else max(told, facts.last.step)


def _is_older(facts: Facts) -> bool:
    """Whether the newest record is of an attempt before the one under way."""
    if facts.state is None or facts.attempt is None or not facts.is_state_current:
        return False
    return facts.attempt < facts.state.attempt


def total_steps_of(facts: Facts) -> int | None:
    """What the trainer goes by, or the settings say."""
    if facts.state is not None and 0 < facts.state.total_steps <= INT32_MAX:
        return facts.state.total_steps
    return facts.settings.train.total_steps if facts.settings else None


def _size_of_one(facts: Facts) -> int | None:
    if facts.checkpoints:
        return facts.checkpoints[-1].n_bytes
    return checkpoint_bytes(facts.settings.model.n_params) if facts.settings else None


def _alarms_of(facts: Facts, room: Room, progress: Progress | None) -> tuple[str, ...]:
    alarms = alarms_of(
        state=facts.state,
        settings=facts.settings,
        last=facts.last,
        audits=facts.phase_audits,
        room=room,
        skipped=facts.skipped,
        refusals=facts.refusals,
        progress=progress,
    )
    pins = (facts.pins_problem,) if facts.pins_problem else ()
    return (*alarms, *pins, *facts.judged_alarms)


def _progress_of(facts: Facts, step: int) -> Progress | None:
    """What the files of a live trainer are held against each other by."""
    if not facts.presence.is_running or facts.settings is None or not facts.is_complete:
        return None
    state_t = facts.state.t if facts.state and facts.is_state_current else 0.0
    is_told = bool(state_t) and facts.last_step_at is not None and not _is_older(facts)
    return Progress(
        step=step,
        newest_checkpoint_step=facts.checkpoints[-1].step if facts.checkpoints else 0,
        checkpoint_every=facts.settings.checkpoint.every,
        state_behind_seconds=(facts.last_step_at or 0.0) - state_t if is_told else 0.0,
        step_seconds=facts.pace.wall_seconds or 0.0,
    )


def _full_in(facts: Facts, room: Room, step: int, total_steps: int | None) -> float | None:
    if room.n_fit is None or facts.settings is None or not facts.presence.is_running:
        return None
    n_checkpoints = len(facts.checkpoints)
    steps = steps_until_full(room.n_fit, facts.settings.checkpoint, n_checkpoints=n_checkpoints)
    steps_left = None if total_steps is None else total_steps - step
    return full_in_seconds(steps, steps_left=steps_left, seconds_per_step=facts.pace.wall_seconds)


def _note_of_replay(replay: Replay | None, step: int) -> tuple[str, ...]:
    """What came of it; while it is under way, only that it differs."""
    if replay is None or not replay.last_step or (step < replay.last_step and not replay.differing):
        return ()
    span = f"steps {formatting.steps(replay.first_step)} to {formatting.steps(replay.last_step)}"
    if replay.differing:
        return (f"{span} trained again: {replay.differing:,} differ from the record on file",)
    return (f"{span} trained again: {replay.proven:,} proven equal to the record on file",)

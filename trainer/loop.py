"""The training loop: a step, top to bottom."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from trainer.deadline import Deadline, StepGivenUp
from trainer.engine.engine import Engine, StepResult
from trainer.persistence.checkpoints import Checkpointer
from trainer.persistence.loss_history import LossHistory
from trainer.persistence.reporter import Reporter
from trainer.persistence.source_watch import SourceWatch
from trainer.proxy.feed import Feed, Pull
from trainer.rundir.config.settings import Settings
from trainer.rundir.memory import memory_of_self
from trainer.rundir.outcomes import Exit, LockedError, NonFiniteError
from trainer.rundir.pivot.journal import HoldMode
from trainer.rundir.records.record_file import Record
from trainer.signals import Signals

HISTORY_ALARM = "history not written"


@dataclass(kw_only=True)
class Training:
    """Everything that one trainer has in hand, at the engine's step."""

    settings: Settings
    engine: Engine
    feed: Feed
    history: LossHistory
    checkpointer: Checkpointer
    reporter: Reporter
    signals: Signals
    deadline: Deadline
    last_step: int
    """Where to end: the run's last step, or one before it."""
    hold_wanted: Callable[[], HoldMode | None] = field(default=lambda: None)
    """Whether and where a pivot wants the run held."""
    source_watch: SourceWatch
    """Tells what became of the sources' files."""
    look_at_hold: Callable[[], None] = field(default=lambda: None)
    """Tells what became of the names of the run's directory and lock."""
    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time


def train(training: Training) -> Exit:
    """Train to the last step, a stop, or a hold; every way out is behind a checkpoint.

    Raises `NonFiniteError`, `GateError`, or `SaveError` where the last save failed.
    """
    signals = training.signals
    while training.engine.step < training.last_step and not wants_stop(training):
        training.reporter.now(doing="training", detail="")
        cause = ""
        while not cause:
            look_around(training)
            take_step(training)
            training.checkpointer.settle()
            cause = checkpoint_due(training)
        if training.engine.step > 0:  # else the first step was given up
            checkpoint(training, cause)
        if cause == "pivot":
            training.checkpointer.require_saved()
            return Exit.HELD
    if training.engine.step > 0:
        training.checkpointer.require_saved()
    if signals.stop_exit is not None:
        return signals.stop_exit
    if training.engine.step < training.last_step:
        training.reporter.now(reason="its own time is over (train.end_at or --for)")
        return Exit.TERMINATED
    return Exit.FINISHED


def wants_stop(training: Training) -> bool:
    """Whether a stop was asked for, or the run's own limit leaves no time for another step."""
    return training.signals.wants_stop or training.deadline.look()


def look_around(training: Training) -> None:
    """Before each step: are directory and lock still those that are held.

    Raises `SaveError` where the directory is deleted; `LockedError`, once all is saved, where
    another trainer has taken the run.
    """
    training.source_watch.tell()
    try:
        training.look_at_hold()
    except LockedError:
        if training.engine.step > 0:
            checkpoint(training, "stop")
            training.checkpointer.require_saved()
        raise


def take_step(training: Training) -> None:
    """One update, and its record in the history."""
    started = training.monotonic()
    training.deadline.begin_step()
    engine, feed, history = training.engine, training.feed, training.history
    number = engine.step + 1
    pull = feed.pull(number)
    try:
        result = engine.train_step(pull.rows)
    except StepGivenUp as given_up:
        training.reporter.say(f"step {number:,} {given_up}: it would not be saved in time")
        return
    reward = feed.reward(pull, result.loss) if result.is_finite else 0.0
    record: Record = {
        "step": number,
        "attempt": training.reporter.state.attempt,
        "phase": training.reporter.state.phase,
        "arm": pull.arm,
        "loss": result.loss,
        "ema": history.next_ema(result.loss) if result.is_finite else history.ema,
        "lr": result.lr,
        "grad_norm": result.grad_norm,
        "reward": reward,
        "tokens": training.settings.train.batch_tokens,
        "ms": round((training.monotonic() - started) * 1000, 3),
        "t": training.wall(),
    }
    write_record(training, record)
    require_finite(training, pull, result)
    feed.settle(pull, loss=result.loss, reward=reward)
    training.deadline.end_step()
    training.reporter.soon(lambda: view(training))
    training.reporter.say_at_times(lambda: line_of(record, training))


def write_record(training: Training, record: Record) -> None:
    """Append the record; a full disk is an alarm, and the record waits in memory for room."""
    history, reporter = training.history, training.reporter
    try:
        is_proven = history.record(record)
    except OSError as error:
        reporter.alarm(HISTORY_ALARM, f"{error.strerror}; records wait in memory")
        return
    reporter.mended(history.mended)
    if not history.n_pending:  # a step that only proves its record writes nothing
        reporter.over(HISTORY_ALARM)
    if is_proven is None:
        return
    replay = history.replay
    if replay.differing == 1 and not is_proven:
        reporter.say(f"replay of step {record['step']:,} differs from the record on file")
    if record["step"] == replay.last_step:
        reporter.say(
            f"replay of steps {replay.first_step:,} to {replay.last_step:,}:"
            f" {replay.proven:,} proven, {replay.differing:,} differing"
        )
    reporter.soon(lambda: view(training))


def require_finite(training: Training, pull: Pull, result: StepResult) -> None:
    """Raise `NonFiniteError` where the update was not applied; the record tells the value."""
    if result.is_finite:
        return
    what = "gradient" if math.isfinite(result.loss) else "loss"
    newest = training.checkpointer.newest_step
    raise NonFiniteError(
        f"{what} not finite at step {training.engine.step + 1:,} (arm {pull.arm}: loss"
        f" {result.loss:g}, grad_norm {result.grad_norm:g}); the update was not applied; last good"
        f" checkpoint: {'none' if newest is None else f'step {newest:,}'}"
    )


def checkpoint_due(training: Training) -> str:
    """Why a checkpoint is due after this step; empty if it isn't."""
    step, settings, signals = training.engine.step, training.settings, training.signals
    if wants_stop(training):
        return "stop"
    if step == training.last_step:
        return "end"
    is_boundary = step % settings.checkpoint.every == 0
    is_asked = signals.n_checkpoints > training.checkpointer.requests_taken
    if not is_boundary and not is_asked:
        return ""
    hold = training.hold_wanted()
    if hold is None:
        return "cadence" if is_boundary else "signal"
    # a request while a pivot waits for the boundary is answered by the boundary's checkpoint
    return "pivot" if is_boundary or hold is HoldMode.NOW else ""


def checkpoint(training: Training, cause: str) -> None:
    """Save and audit; requests that arrive meanwhile are answered by this same checkpoint."""
    signals, checkpointer = training.signals, training.checkpointer
    training.source_watch.begin()
    training.reporter.now(**view(training))
    checkpointer.checkpoint(cause, signals.n_checkpoints)
    if signals.n_checkpoints > checkpointer.requests_taken:
        checkpointer.checkpoint(cause, signals.n_checkpoints)


def view(training: Training) -> dict[str, object]:
    """What `.state.json` shows of a run under way."""
    replay = training.history.replay
    return {
        "step": training.engine.step,
        "memory": memory_of_self(),
        "ranks": training.engine.ranks.states(training.engine.step),
        "arms": training.feed.bandit.arms(),
        "zombies": training.feed.bandit.zombies(),
        "replay": replay if replay.last_step >= replay.first_step else None,
    }


def line_of(record: Record, training: Training) -> str:
    """A step for the log."""
    total = training.settings.train.total_steps
    return (
        f"step {record['step']:,}/{total:,} | {record['arm']} | loss {record['loss']:.4f}"
        f" | ema {record['ema']:.4f} | lr {record['lr']:.2e}"
        f" | grad_norm {record['grad_norm']:.2f} | {record['ms']:.0f} ms"
    )

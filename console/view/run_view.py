"""What the console knows of a run at one moment: one frozen value that every widget draws from.

Everything that a trainer did not write is `None`: shown as unknown, never guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from console.health.verdict import NOT_JUDGED, Health
from console.view.disk_forecast import Room
from trainer.rundir.checkpoints.checkpoint import Skipped
from trainer.rundir.config.settings import DEFAULT_HELD_OUT_ROWS
from trainer.rundir.evaluations import Evaluation
from trainer.rundir.state import ArmState, State, Zombie


class Severity(StrEnum):
    """How much a status wants of the operator; also the style it is drawn in."""

    OK = "ok"
    BUSY = "busy"
    ENDED = "ended"
    ATTENTION = "attention"
    BAD = "bad"


MOVED = "moved"
"""The word where the run's directory is not under its name any more."""
UNREADABLE = "unreadable"
"""The word where it is, but may not be looked into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The run's state in words."""

    word: str
    """starting, training, sampling, saving, stopping, stopped, finished, held, failed, stalled,
    not running, moved, unreadable, unknown."""
    detail: str = ""
    """Why, or what exactly, for a person: one line."""
    severity: Severity = Severity.OK
    outlook: str = ""
    """What this console does about a crash, for a person; empty where it does nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the model wrote behind a prompt: data, never markup."""

    prompt: str = ""
    text: str = ""
    tokens: int | None = None
    score: float | None = None
    bigram_diversity: float | None = None
    trigram_diversity: float | None = None
    english_words: float | None = None
    character_diversity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(Sample):
    """One sample audit: its first sample, which it is judged by, and what else it found."""

    step: int
    checkpoint: str
    phase: int | None = None
    cause: str = ""
    more: tuple[Sample, ...] = ()
    """The samples behind further prompts."""
    val_loss: float | None = None
    val_losses: tuple[tuple[str, float], ...] = ()
    """By source, where they are known; names are foreign text."""
    test_losses: tuple[tuple[str, float], ...] = ()
    """The same by test set."""
    held_out_rows: int = DEFAULT_HELD_OUT_ROWS
    """Of each source at most: the sample that `val_loss` is of."""
    sha256: str = ""
    seconds: float | None = None
    t: float | None = None
    """Wall clock, seconds."""

    @property
    def samples(self) -> tuple[Sample, ...]:
        """All of them, at least one."""
        return (self, *self.more)

    def led_by(self, prompt: str | None) -> "Audit":
        """The same, the sample behind this prompt as its own and the others after it in a circle.

        As it is where it has no such sample, or for `None`.
        """
        prompts = [sample.prompt for sample in self.samples]
        if prompt is None or prompt == self.prompt or prompt not in prompts:
            return self
        at = prompts.index(prompt)
        circle = [_fields(sample) for sample in (*self.samples[at:], *self.samples[:at])]
        return replace(self, **circle[0], more=tuple(Sample(**each) for each in circle[1:]))


def _fields(sample: Sample) -> dict[str, Any]:
    return {item.name: getattr(sample, item.name) for item in fields(Sample)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRow:
    """A checkpoint on disk, joined with its audit whatever phase that is from."""

    step: int
    name: str
    n_bytes: int
    modified: float
    """Wall clock, seconds."""
    cause: str = ""
    audit: Audit | None = None
    evaluation: Evaluation | None = None
    """On the whole held-out text, where somebody asked for it."""
    goes: bool = False
    """Whether thinning would take it."""
    stays: str = ""
    """Why thinning would not; empty where it would, or where that isn't known."""
    note: str | None = None
    """Of its pin, foreign text; `None`: it isn't pinned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRow:
    """An arm of the bandit by name."""

    name: str
    state: ArmState


class MarkKind(StrEnum):
    PHASE = "phase"
    RESTART = "restart"
    SETTINGS = "settings"
    """From here on the run has others: a fork's first step."""
    STALL = "stall"
    NONFINITE = "nonfinite"
    HELD_OUT = "held out"
    """From here on `val_loss` is of another sample of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A vertical mark on the loss chart."""

    step: int
    kind: MarkKind
    label: str = ""


class EventKind(StrEnum):
    """What an event is about; the list of events is filtered by it."""

    START = "start"
    END = "end"
    CRASH = "crash"
    REPLAY = "replay"
    STALL = "stall"
    NONFINITE = "non-finite"
    ALARM = "alarm"
    HEALTH = "health"
    SPIKE = "spike"
    SAVE = "save"
    GATE = "gate"
    PIVOT = "pivot"
    FORK = "fork"
    THINNING = "thinning"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to the run."""

    t: float | None
    """Wall clock, seconds."""
    step: int | None
    """Where the run was then."""
    kind: EventKind
    text: str
    """One line of foreign text."""
    severity: Severity = Severity.OK
    by: str = ""
    """Who did it: `user@host`, foreign text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPoint:
    """The loss of a step; one that is not finite is `None` and named."""

    step: int
    loss: float | None
    ema: float | None
    nonfinite: str = ""
    """`NaN`, `Infinity` or `-Infinity` where the loss is not finite."""


class RequestStage(StrEnum):
    REQUESTED = "requested"
    WRITTEN = "written"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What became of the checkpoint asked for with c."""

    stage: RequestStage
    message: str
    """For a person: `checkpoint requested; written after this step`, …"""
    step: int | None = None
    """Of the checkpoint that was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the next start would not begin, for a person."""

    what: str
    is_of_source: bool = False
    """A pivot may mend it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """All that is known at one moment."""

    name: str
    path: Path
    status: Status
    is_running: bool
    """The trainer's lock is held by a live process."""
    pid: int | None = None
    host: str = ""
    takes_signals: bool = False
    step: int = 0
    total_steps: int | None = None
    last: LossPoint | None = None
    """The record of `step`, or the newest for a step beyond them all."""
    steps_per_minute: float | None = None
    eta_seconds: float | None = None
    attempt: int | None = None
    phase: int = 1
    phase_start_step: int = 0
    checkpoints: tuple[CheckpointRow, ...] = ()
    """By ascending step; the last is the newest."""
    checkpoint_bytes: int = 0
    """Size of all checkpoints together."""
    skipped: tuple[Skipped, ...] = ()
    pins_problem: str = ""
    """Why nothing can be thinned: pins that can't be read."""
    checkpoint_every: int | None = None
    audits: tuple[Audit, ...] = ()
    """All phases, by ascending step."""
    arms: tuple[ArmRow, ...] = ()
    zombies: tuple[Zombie, ...] = ()
    room: Room = field(default_factory=Room)
    full_in_seconds: float | None = None
    """When the disk will be full at this pace; `None`: not in sight or unknown."""
    health: Health = NOT_JUDGED
    """By the record."""
    overdue_since: int | None = None
    """The step of the newest checkpoint, where the next one should be there by now; 0: none is."""
    alarms: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What is neither an ill nor an alarm and may become one; foreign text."""
    judged_alarms: Mapping[str, int] = field(default_factory=dict)
    """Those of the alarms that came of the run's health, each with the step where that began."""
    refusals: tuple[Refusal, ...] = ()
    """What the next start would refuse; each is an alarm, too."""
    state: State = field(default_factory=State)
    """What the trainer told last, as it stands on file. What the history tells too is
    reconciled with it in the view's own fields: step, total_steps, attempt, phase, alarms, notes.
    """
    request: Request | None = None
    marks: tuple[Mark, ...] = ()
    events: tuple[Event, ...] = ()
    """Oldest first; the same object until there is another."""
    history_version: int = 0
    """Changes whenever the loss series did: the chart's signal to look at the series again."""
    n_records: int = 0
    """Steps in the history."""
    is_complete: bool = True
    """False while a long history is still being read: look again at once."""
    log_tail: tuple[str, ...] = ()
    """The last lines of trainer.log, decoded with replacement, not yet escaped."""
    notes: tuple[str, ...] = ()
    """Things to know that are no alarm: a repaired tail, a replay that was proven."""

    @property
    def free_bytes(self) -> int | None:
        return self.room.free_bytes

    @property
    def can_go_on(self) -> bool:
        """No trainer runs, and there are steps left to train, for all that is known."""
        is_done = self.status.word == "finished" and self.step >= (self.total_steps or 0)
        return not self.is_running and not is_done and not self.is_lost

    @property
    def is_lost(self) -> bool:
        """The run can't be reached by its name: what is shown is what was known last."""
        return self.status.word in (MOVED, UNREADABLE)

    @property
    def replay_end(self) -> int | None:
        """The history's last step, where the run stands before it: steps to be trained again."""
        replay = self.state.replay
        return replay.last_step if replay is not None and self.step < replay.last_step else None

    @property
    def is_judged(self) -> bool:
        """Whether the health is known as far as the record tells it."""
        return self.health is not NOT_JUDGED

    @property
    def newest(self) -> CheckpointRow | None:
        return self.checkpoints[-1] if self.checkpoints else None

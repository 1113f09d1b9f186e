"""`.state.json`: what the trainer is doing, and a view of its bandit; replaced atomically.

Nothing in it is needed to resume. A reader takes what it finds: a field that is missing, or of
a wrong type, is unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import orjson

from trainer.rundir.atomic import write_atomic
from trainer.rundir.memory import Memory
from trainer.rundir.preparing import Preparing
from trainer.rundir.reading import read_file

DOING = (
    "starting",
    "training",
    "sampling",
    "saving",
    "stopping",
    "stopped",
    "finished",
    "held",
    "failed",
)
"""What a trainer can be doing; the last four are ends."""

ENDED = frozenset({"stopped", "finished", "held", "failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmState:
    """One arm of the bandit as it stands; `None`: unknown, or no pull yet."""

    pulls: int = 0
    ema_reward: float | None = None
    ema_loss: float | None = None
    weight: float | None = None
    probability: float | None = None
    floor: float | None = None
    cap: float | None = None
    tokens: int = 0
    """Tokens that this arm's batches held in this phase."""
    available: bool = True

    @property
    def held_at(self) -> str:
        """`cap` or `floor`, where that gives the arm its weight and not what it has earned."""
        if not self.pulls or self.weight is None:
            return ""
        if self.cap is not None and self.weight >= self.cap:
            return "cap"
        return "floor" if self.floor and self.weight <= self.floor else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Zombie:
    """An arm whose source is gone: reported, never pulled, in no sum."""

    arm: str = ""
    pulls: int = 0
    ema_reward: float | None = None
    weight: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Steps trained again after a crash, against the records on file."""

    first_step: int = 0
    last_step: int = 0
    proven: int = 0
    """Steps whose loss and grad_norm equal the record on file."""
    differing: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """How the last save went."""

    step: int = 0
    cause: str = ""
    """`cadence`, `signal`, `stop`, `end`, `pivot` or `emergency` (after an error)."""
    ok: bool = False
    bytes: int = 0
    seconds: float = 0.0
    error: str = ""
    t: float = 0.0
    """Wall clock, seconds."""
    requests: int = 0
    """Checkpoint requests (SIGUSR1) seen since this trainer's start that this save answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankState:
    """One of several processes that train the run together."""

    rank: int = 0
    host: str = ""
    pid: int = 0
    device: str = ""
    step: int = 0
    waited_ms: float = 0.0
    """In the last step, for the others: the slowest waits least."""
    lost_since: float | None = None
    """Wall clock, seconds, when it was last heard of; None: it is there."""
    lost: str = ""
    """What is known of its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything in `.state.json`."""

    doing: str = ""
    detail: str = ""
    """What exactly, for a person: `training the tokenizer 45 %`."""
    preparing: Preparing | None = None
    """How far text is on its way to tokens, while it is."""
    takes_signals: bool = False
    pid: int = 0
    t: float = 0.0
    """Wall clock, seconds, when this was written."""
    step: int = 0
    total_steps: int = 0
    attempt: int = 0
    phase: int = 1
    phase_start_step: int = 0
    arms: Mapping[str, ArmState] = field(default_factory=dict)
    zombies: tuple[Zombie, ...] = ()
    replay: Replay | None = None
    last_save: Save | None = None
    ranks: tuple[RankState, ...] = ()
    """Where several train together."""
    memory: Memory | None = None
    """For who finds the trainer killed."""
    alarms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Things to know about this start that are no alarm: a repaired tail, a changed setting."""
    exit_code: int | None = None
    reason: str = ""
    """Why the trainer ended, for a person."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings of this start, flat (`train.batch_tokens`), to be compared at the next."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """What else a bit-exact resume depends on: torch, threads, device, sources' fingerprints."""


def write_state(path: Path, state: State) -> None:
    """Replace the file; not synced, since nothing depends on it. Raises `OSError`."""
    write_atomic(path, orjson.dumps(state, option=orjson.OPT_INDENT_2) + b"\n", durable=False)


def read_state(path: Path) -> State | None:
    """The state on file; `None` if there is none or it is no JSON object."""
    try:
        written = orjson.loads(read_file(path))
    except (OSError, orjson.JSONDecodeError):
        return None
    return tolerant(State, written) if isinstance(written, dict) else None


T = TypeVar("T")


def tolerant(kind: type[T], written: Mapping[str, Any]) -> T:
    """Build a dataclass from what fits of `written`; the rest keeps its default."""
    hints = get_type_hints(kind)
    known = {}
    for item in fields(kind):  # type: ignore[arg-type]
        if item.name in written:
            value, fits = _fit(hints[item.name], written[item.name])
            if fits:
                known[item.name] = value
    return kind(**known)


def strict(kind: type[T], written: Any) -> T:
    """Build a dataclass from all of `written`; `TypeError` or `ValueError` for what doesn't fit."""
    if not isinstance(written, dict):
        raise TypeError(f"{written!r:.40} is no object")
    hints = get_type_hints(kind)
    for name, value in written.items():
        if name in hints and _fit(hints[name], value) != (value, True):
            raise ValueError(f"{name}: {value!r:.40}")
    return kind(**written)


def _fit(hint: Any, value: Any) -> tuple[Any, bool]:
    if isinstance(hint, UnionType):
        return _fit_optional(hint, value)
    if get_origin(hint) is tuple:
        return _fit_tuple(get_args(hint)[0], value)
    if get_origin(hint) in (Mapping, dict):
        return _fit_mapping(get_args(hint)[1], value)
    if hint is Any:
        return value, True
    if hint is float:
        return value, isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return value, isinstance(value, int) and not isinstance(value, bool)
    if hint in (str, bool):
        return value, isinstance(value, hint)
    if isinstance(hint, type) and isinstance(value, hint):
        return value, True
    return (tolerant(hint, value), True) if isinstance(value, dict) else (None, False)


def _fit_optional(hint: UnionType, value: Any) -> tuple[Any, bool]:
    if value is None:
        return None, True
    kind = next(kind for kind in get_args(hint) if kind is not type(None))
    return _fit(kind, value)


def _fit_tuple(kind: Any, value: Any) -> tuple[Any, bool]:
    if not isinstance(value, list):
        return None, False
    return tuple(item for item, fits in (_fit(kind, each) for each in value) if fits), True


def _fit_mapping(kind: Any, value: Any) -> tuple[Any, bool]:
    if not isinstance(value, dict):
        return None, False
    fitted = {key: _fit(kind, each) for key, each in value.items()}
    return {key: item for key, (item, fits) in fitted.items() if fits}, True

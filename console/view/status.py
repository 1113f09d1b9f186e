"""The run's state in words, from what the lock, the state file and a child's end say; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from console import formatting
from console.process.launch import exit_words, is_kill
from console.process.presence import Liveness, Presence, place_of
from console.view.run_view import Severity, Status
from trainer.rundir.memory import is_of_own_group
from trainer.rundir.outcomes import Exit, after_word
from trainer.rundir.state import DOING, ENDED, State

_LIVE = {
    "starting": Severity.BUSY,
    "training": Severity.OK,
    "sampling": Severity.BUSY,
    "saving": Severity.BUSY,
    "stopping": Severity.BUSY,
}
_ENDS = {
    Exit.FINISHED: "finished",
    Exit.HELD: "held",
    Exit.INTERRUPTED: "stopped",
    Exit.TERMINATED: "stopped",
}
_LAST_GOOD = "last good checkpoint"
_END_SEVERITY = {"finished": Severity.ENDED, "stopped": Severity.ENDED, "held": Severity.ATTENTION}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a status is drawn from."""

    presence: Presence
    state: State | None = None
    is_state_current: bool = False
    """Whether the state file is of the trainer that runs (or, if none does, of the last one)."""
    is_child_alive: bool = False
    """Whether a trainer that this console launched lives: it may not hold the lock yet."""
    child_exit: int | None = None
    """How the trainer that this console launched ended, if it was the last one."""
    has_records: bool = False
    is_stalled: bool = False
    patience_seconds: float = 0.0
    last_step_at: float | None = None
    """Wall clock, seconds, of the newest record."""
    newest_checkpoint_step: int | None = None
    last_log_line: str = ""
    kills: Mapping[str, int] = field(default_factory=dict)
    """What the kernel's counters say of processes killed for want of memory since its start."""
    outlook: str = ""
    """What this console does about the crash that it found last; empty: nothing."""


def status_of(evidence: Evidence) -> Status:
    """The word, why, and how much it wants of the operator."""
    if evidence.presence.is_running:
        return _stalled(evidence) if evidence.is_stalled else _running(evidence)
    if evidence.presence.liveness is Liveness.ORPHANED:
        detail = "the trainer is dead, but something that it started still holds the run"
        return Status(word="failed", detail=f"{detail}: end it first", severity=Severity.BAD)
    if evidence.is_child_alive and not _has_told_its_end(evidence):
        return Status(word="starting", severity=Severity.BUSY)
    status = _not_running(evidence)
    status = replace(status, detail=after_word(status.word, status.detail))
    return replace(status, outlook=evidence.outlook) if status.word == "failed" else status


def doing_of(evidence: Evidence) -> str:
    """The running trainer's word for what it does; empty if it gives none."""
    state = evidence.state
    if state is None or not evidence.is_state_current:
        # A trainer that writes no state trains once it has written records; one of ours starts.
        return "starting" if state is not None or not evidence.has_records else ""
    return "stopping" if state.doing in ENDED else state.doing


def _running(evidence: Evidence) -> Status:
    doing = doing_of(evidence)
    state = evidence.state
    told = state.detail if state is not None and evidence.is_state_current else ""
    detail = "; ".join(part for part in (told, _elsewhere(evidence.presence)) if part)
    if doing in DOING:
        return Status(word=doing, detail=detail, severity=_LIVE[doing])
    return Status(word="training" if evidence.has_records else "starting", detail=doing or detail)


def _elsewhere(presence: Presence) -> str:
    """Where the trainer is, if its process can't be seen from here."""
    holder = presence.holder
    if presence.liveness is not Liveness.ELSEWHERE or holder is None:
        return ""
    return f"{place_of(holder)}; c and q can't reach it from here"


def _stalled(evidence: Evidence) -> Status:
    doing = doing_of(evidence) or "training"
    since = evidence.last_step_at
    when = "" if since is None else f"; last step at {formatting.moment(since)}"
    detail = (
        f"nothing for over {formatting.duration(evidence.patience_seconds)} while {doing}{when}"
    )
    return Status(
        word="stalled",
        detail=f"{detail}; {_last_good(evidence)}",
        severity=Severity.ATTENTION,
    )


def _not_running(evidence: Evidence) -> Status:
    state = evidence.state
    if evidence.child_exit is not None and not _has_told_its_end(evidence):
        return _ended(evidence, evidence.child_exit, "")
    if state is None or not state.doing:
        told = state.reason if state is not None else ""
        detail = "it has been trained before" if evidence.has_records else told or "not started yet"
        return Status(word="not running", detail=detail, severity=Severity.ENDED)
    if state.doing not in ENDED:
        how = _killed(evidence, "killed?")
        detail = f"{_vanished(state.doing, how)}; {_last_good(evidence)}"
        return Status(word="failed", detail=detail, severity=Severity.BAD)
    if state.exit_code is not None:
        return _ended(evidence, state.exit_code, state.reason)
    severity = _END_SEVERITY.get(state.doing, Severity.BAD)
    return Status(word=state.doing, detail=state.reason, severity=severity)


def _has_told_its_end(evidence: Evidence) -> bool:
    """Whether the state is of the trainer in question and says how that ended; the process may
    take seconds more to unload.
    """
    state = evidence.state
    return state is not None and state.doing in ENDED and evidence.is_state_current


def _ended(evidence: Evidence, code: int, reason: str) -> Status:
    word = _ENDS.get(Exit(code), "failed") if code in set(Exit) else "failed"
    if word != "failed":
        detail = reason or exit_words(code)
        return Status(word=word, detail=detail, severity=_END_SEVERITY[word])
    detail = reason or _unsaid_end(evidence, code)
    if _LAST_GOOD not in detail:  # a trainer whose loss is no number says it itself
        detail = f"{detail}; {_last_good(evidence)}"
    return Status(word="failed", detail=detail, severity=Severity.BAD)


def _unsaid_end(evidence: Evidence, code: int) -> str:
    """In the words of a console that has only the state to go by, and with what this one knows."""
    how = _with_last_words(code, evidence.last_log_line)
    if is_kill(code):
        how = _killed(evidence, how)
    doing = evidence.state.doing if evidence.state and evidence.is_state_current else ""
    return _vanished(doing, how) if doing else how


def _vanished(doing: str, how: str) -> str:
    return f"the trainer vanished while {doing} ({how})"


def _killed(evidence: Evidence, how: str) -> str:
    """With what the kernel's counters say of it, or else with what can be known of its memory."""
    memory = evidence.state.memory if evidence.state and evidence.is_state_current else None
    if memory is None:
        return how
    peak = f"it had {formatting.size(memory.peak_bytes)} at most" if memory.peak_bytes else ""
    if is_of_own_group(evidence.kills):
        return ", ".join(part for part in ("killed by the kernel: out of memory", peak) if part)
    if evidence.kills:
        likely = f"{how}, probably by the kernel: it killed for want of memory then"
        return ", ".join(part for part in (likely, peak) if part)
    if not peak:
        return how
    of_all = f" of {formatting.size(memory.total_bytes)}" if memory.total_bytes else ""
    counted = "; the kernel counts no kill for want of memory" if memory.oom_kills else ""
    return f"{how}, {peak}{of_all}{counted}"


def _with_last_words(code: int, last_log_line: str) -> str:
    """An exit code in words; if it came from the trainer itself, with the last line of its log."""
    was_killed = code < 0 or code > 128
    return exit_words(code) + (f": {last_log_line}" if last_log_line and not was_killed else "")


def _last_good(evidence: Evidence) -> str:
    step = evidence.newest_checkpoint_step
    if step is None:
        return "no checkpoint yet"
    return f"{_LAST_GOOD}: step {formatting.steps(step)}"

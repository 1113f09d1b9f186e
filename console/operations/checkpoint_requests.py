"""What becomes of a checkpoint that was asked for: pure rules and the one who remembers."""

from dataclasses import dataclass

from console import formatting
from console.view.run_view import CheckpointRow, Request, RequestStage
from trainer.rundir.state import Save


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How things stood when the trainer was signalled: what comes after is the answer."""

    pid: int
    """Of the trainer that was asked."""
    answered: int
    """Requests that its saves had answered."""
    newest_step: int
    """Of the newest checkpoint; -1 if there was none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is there now."""

    pid: int | None
    """Of the running trainer; `None` if none runs."""
    last_save: Save | None
    """Of the trainer that `state_pid` names."""
    state_pid: int
    newest: CheckpointRow | None
    end: str = ""
    """Why no trainer runs, for a person."""


REQUESTED = Request(
    stage=RequestStage.REQUESTED, message="checkpoint requested; it is written after this step"
)


def answer(asked: Asked, seen: Seen) -> Request:
    """Requested until a save has answered it, or none can any more."""
    save = seen.last_save
    if save is not None and seen.state_pid == asked.pid:
        if save.requests > asked.answered:
            return _from_save(save)
    elif seen.newest is not None and seen.newest.step > asked.newest_step:
        return _written(seen.newest.step, seen.newest.n_bytes, None)
    if seen.pid == asked.pid:
        return REQUESTED
    newest = seen.newest
    if newest is not None and newest.step > asked.newest_step:
        return _written(newest.step, newest.n_bytes, None)
    why = seen.end or "the trainer ended before it could write it"
    return Request(stage=RequestStage.FAILED, message=f"no checkpoint written: {why}")


def _from_save(save: Save) -> Request:
    if save.ok:
        return _written(save.step, save.bytes, save.seconds)
    message = f"checkpoint of step {formatting.steps(save.step)} not written: {save.error}"
    return Request(stage=RequestStage.FAILED, message=message)


def _written(step: int, n_bytes: int, seconds: float | None) -> Request:
    took = f" in {formatting.precise_seconds(seconds)}" if seconds else ""
    message = f"checkpoint of step {formatting.steps(step)} written: {formatting.size(n_bytes)}"
    return Request(stage=RequestStage.WRITTEN, message=message + took, step=step)


class RequestTracker:
    """The last request; told by the operations, looked at by the follower."""

    def __init__(self) -> None:
        self._asked: Asked | None = None
        self._request: Request | None = None

    @property
    def is_open(self) -> bool:
        """Whether a request waits for its answer: presses until then are one."""
        return self._request is not None and self._request.stage is RequestStage.REQUESTED

    @property
    def asked_pid(self) -> int | None:
        """The trainer that was asked last."""
        return self._asked.pid if self._asked is not None else None

    def ask(self, asked: Asked) -> None:
        """A signal is about to be sent."""
        self._asked, self._request = asked, REQUESTED

    def withdraw(self) -> None:
        """The signal could not be sent."""
        self._asked = self._request = None

    def look(self, seen: Seen) -> Request | None:
        """The request's stage by what is there now; `None` if none was made."""
        asked, request = self._asked, self._request
        if asked is not None and request is REQUESTED:
            request = answer(asked, seen)
            # Asked anew meanwhile, from another thread: that one is not answered by this look.
            if self._asked is asked:
                self._request = request
        return request

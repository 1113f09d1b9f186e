"""Signals to the trainer, and those that end the console; the only module that sends any."""

import asyncio
import errno
import os
import signal
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from console.process.presence import Liveness, how_to_signal, place_of, presence_of
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import Holder, holder_of, process_start_time
from trainer.rundir.outcomes import RunError


class Ask(Enum):
    """What a signal asks of the trainer."""

    CHECKPOINT = signal.SIGUSR1
    STOP = signal.SIGTERM


class NotSentError(RunError):
    """No signal was sent, and why, for a person."""


def send(run: RunDirectory, ask: Ask) -> Holder:
    """Signal the process that holds the run's lock, and no other; raises `NotSentError`.

    Its identity (host, boot, pid, start time, lock) is checked again once a pidfd pins the
    process, so that a pid that the kernel gave to another one is never signalled; and the kernel
    is asked whether the process takes the signal, which would kill it otherwise.
    """
    presence = presence_of(run)
    holder = presence.holder
    if holder is None:
        raise NotSentError("no trainer is running")
    if presence.liveness is Liveness.UNNAMED:
        raise NotSentError("a trainer holds the run but has not written its pid")
    if presence.liveness is Liveness.ORPHANED:
        raise NotSentError(f"the trainer (pid {holder.pid}) is dead; its children hold the run")
    if presence.liveness is Liveness.ELSEWHERE:
        how = how_to_signal(holder, ask.value.name.removeprefix("SIG"))
        raise NotSentError(f"the trainer runs {place_of(holder)} (pid {holder.pid} there): {how}")
    try:
        _send_pinned(run, holder, ask)
    except PermissionError:
        msg = f"no permission to signal pid {holder.pid}: it belongs to another user"
        raise NotSentError(msg) from None
    except (OSError, OverflowError):
        raise NotSentError(f"the trainer (pid {holder.pid}) has just ended") from None
    return holder


def _send_pinned(run: RunDirectory, holder: Holder, ask: Ask) -> None:
    pidfd = _pin(holder.pid)
    try:
        if process_start_time(holder.pid) != holder.start_time or holder_of(run.lock) != holder:
            raise ProcessLookupError(holder.pid)
        if not takes(holder.pid, ask):
            msg = f"the trainer does not take {ask.value.name} yet, which would kill it now"
            raise NotSentError(f"{msg}; try again in a moment")
        if pidfd is None:
            os.kill(holder.pid, ask.value)
        else:
            signal.pidfd_send_signal(pidfd, ask.value)
    finally:
        if pidfd is not None:
            os.close(pidfd)


def _pin(pid: int) -> int | None:
    """A pidfd; `None` on a kernel that has none."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno == errno.ENOSYS:
            return None
        raise


def takes(pid: int, ask: Ask) -> bool:
    """Whether the process catches the signal, or holds it back until it does (proc(5))."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    masks = dict(line.split(":\t", 1) for line in status.splitlines() if line.startswith("Sig"))
    taken = int(masks["SigCgt"], 16) | int(masks["SigBlk"], 16)
    return bool(taken >> (ask.value - 1) & 1)


def on_leave_signals(leave: Callable[[], None]) -> None:
    """Have the running event loop call `leave` on SIGINT, SIGTERM and SIGHUP."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, leave)

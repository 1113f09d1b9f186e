"""Whether a trainer lives and who it is, as the kernel's lock says."""

import shlex
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import Holder, holder_of, process_start_time


class Liveness(StrEnum):
    """What the lock says of the run's trainer."""

    NOBODY = "nobody"
    ALIVE = "alive"
    ELSEWHERE = "elsewhere"
    """Held from another machine or container: alive as far as can be known, not to be signalled
    from here.
    """
    ORPHANED = "orphaned"
    """Held by something that a dead trainer has left behind."""
    UNNAMED = "unnamed"
    """Held, and by whom is not written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """Whether a trainer lives, and who it is."""

    liveness: Liveness
    holder: Holder | None = None

    @property
    def is_held(self) -> bool:
        """Whether no other trainer can start."""
        return self.liveness is not Liveness.NOBODY

    @property
    def is_running(self) -> bool:
        return self.liveness in (Liveness.ALIVE, Liveness.ELSEWHERE, Liveness.UNNAMED)


def presence_of(run: RunDirectory) -> Presence:
    """Ask the kernel who holds the run; a lock that can't be asked about counts as free."""
    try:
        holder = holder_of(run.lock)
    except OSError:
        holder = None
    if holder is None:
        return Presence(liveness=Liveness.NOBODY)
    if not holder.pid:
        return Presence(liveness=Liveness.UNNAMED, holder=holder)
    if not holder.is_here:
        return Presence(liveness=Liveness.ELSEWHERE, holder=holder)
    liveness = Liveness.ALIVE if holder.is_alive else Liveness.ORPHANED
    return Presence(liveness=liveness, holder=holder)


def place_of(holder: Holder) -> str:
    """Where a trainer is that can't be signalled from here: `on gpu7`."""
    if not holder.is_on_this_machine:
        return f"on {holder.host}"
    return "in another container of this machine, or outside this one"


def how_to_signal(holder: Holder, name: str) -> str:
    """Commands that send it the signal `name` (`TERM`), where it is or from outside."""
    kill = f"kill -s {name}"
    if not holder.is_on_this_machine:
        return f"ssh {shlex.quote(holder.host)} {kill} {holder.pid}"
    inside = f"docker exec CONTAINER {kill} {holder.pid}"
    pid_here = _pid_here(holder)
    if pid_here is None:
        return f"{inside}, or nsenter --target PID-OUTSIDE --pid --mount {kill} {holder.pid}"
    return f"{kill} {pid_here}, or {inside}"


def _pid_here(holder: Holder) -> int | None:
    """What its pid is to this process, where this one's namespace lies around the holder's."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            status = (folder / "status").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        pids = status.partition("\nNSpid:")[2].partition("\n")[0].split()
        is_inside = len(pids) > 1 and pids[-1] == str(holder.pid)
        if is_inside and process_start_time(int(folder.name)) == holder.start_time:
            return int(folder.name)
    return None

"""Whether a trainer lives and who it is, as the kernel's lock says."""

from dataclasses import dataclass
from enum import StrEnum

from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import Holder, holder_of


class Liveness(StrEnum):
    """What the lock says of the run's trainer."""

    NOBODY = "nobody"
    ALIVE = "alive"
    ELSEWHERE = "elsewhere"
    """Held from another machine: alive as far as can be known, not to be signalled from here."""
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

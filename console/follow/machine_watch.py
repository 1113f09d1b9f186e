"""The machine under the run: sampled when somebody looks, every two seconds at most."""

import time
from dataclasses import dataclass, field, replace
from statistics import fmean

from console.follow.gpu_watch import SAMPLE_SECONDS, GpuWatch
from console.process.presence import Liveness, Presence
from console.view.disk_forecast import Room
from console.view.gpu import NO_ANSWER, Gpus
from console.view.machine import Machine, MachineBook
from console.view.recent_hours import RecentHours
from console.view.steady import steady
from trainer.rundir.state import RankState

_DRIVER_SECONDS = 5.0
_RATE_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """The trainer, and the disk, that a machine is looked at for."""

    presence: Presence = field(default_factory=lambda: Presence(liveness=Liveness.NOBODY))
    told_peak_bytes: int | None = None
    """The most that was resident, by the trainer's own word."""
    room: Room = field(default_factory=Room)
    ranks: tuple[RankState, ...] = ()

    @property
    def pid(self) -> int | None:
        """Where it means anything here."""
        holder = self.presence.holder
        return holder.pid if holder and self.presence.liveness is Liveness.ALIVE else None

    @property
    def other_host(self) -> str:
        """Where it runs, if not on this machine."""
        holder = self.presence.holder
        return holder.host if holder and not holder.is_on_this_machine else ""


class MachineWatch:
    """Remembers what is shown, and the last hours; one caller at a time."""

    def __init__(self) -> None:
        self._gpus = GpuWatch()
        self._book = MachineBook()
        self._recent = RecentHours()
        self._sampled_at: float | None = None
        self._shown = Machine()

    def look(self, now: float, tenant: Tenant) -> Machine:
        """What is shown at `now`, monotonic seconds: equal to the last if little has changed."""
        if host := tenant.other_host:
            self._shown = Machine(trainer_host=host, room=tenant.room, ranks=tenant.ranks)
        elif self._sampled_at is None or now - self._sampled_at >= SAMPLE_SECONDS:
            self._sampled_at = now
            gpus = self._gpus.look(now, tenant.pid)
            machine = _with(self._book.sample(now, tenant.pid), tenant, gpus)
            self._recent.add(now, _busy(machine))
            machine = replace(machine, recent=self._recent.groups())
            self._shown = steady(machine, self._shown)
        return self._shown


def measure(tenant: Tenant) -> Machine:
    """A single sample, with its rates: takes 0.2 s, and longer where the driver is slow."""
    if host := tenant.other_host:
        return Machine(trainer_host=host, room=tenant.room, ranks=tenant.ranks)
    watch, book, began = GpuWatch(), MachineBook(), time.monotonic()
    watch.look(began, tenant.pid)
    book.sample(began, tenant.pid)
    time.sleep(_RATE_SECONDS)
    is_told = watch.wait(_DRIVER_SECONDS)
    now = time.monotonic()
    gpus = watch.look(now, tenant.pid) if is_told else Gpus(word=NO_ANSWER)
    return _with(book.sample(now, tenant.pid), tenant, gpus)


def _with(machine: Machine, tenant: Tenant, gpus: Gpus) -> Machine:
    trainer = machine.trainer
    if trainer is not None and trainer.peak_bytes is None:
        trainer = replace(trainer, peak_bytes=tenant.told_peak_bytes)
    return replace(machine, gpus=gpus, room=tenant.room, trainer=trainer, ranks=tenant.ranks)


def _busy(machine: Machine) -> float | None:
    """Of the GPUs that the trainer is on, or else of all; without a GPU, of the processors."""
    rows = [row for row in machine.gpus.rows if row.is_trainers] or machine.gpus.rows
    shares = [row.busy for row in rows if row.busy is not None]
    if shares:
        return fmean(shares)
    return None if rows else machine.cpu_share

"""The machine under the run: processors, memory, what the trainer takes of them, room on the disk.

Read from /proc; `None` is what this machine, this container or these rights do not tell.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from console.view.disk_forecast import Room
from console.view.gpu import Gpus
from trainer.rundir.state import RankState

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What the trainer takes."""

    rss_bytes: int | None = None
    peak_bytes: int | None = None
    """The most that was resident since its start."""
    write_rate: float | None = None
    """Bytes a second that it sent to disks since the sample before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One sample."""

    trainer_host: str = ""
    """Where the trainer runs, if that is another machine: of this one only the disk counts."""
    gpus: Gpus = field(default_factory=Gpus)
    cpu_share: float | None = None
    """Of all processors, 0 to 1, since the sample before."""
    ram_used_bytes: int | None = None
    """What isn't available to a program that asks for memory."""
    ram_bytes: int | None = None
    trainer: Process | None = None
    """`None`: none runs here."""
    room: Room = field(default_factory=Room)
    ranks: tuple[RankState, ...] = ()
    """Of a run that several processes train: as they told last."""
    recent: tuple[float, ...] = ()
    """How busy the trainer's GPUs were (without a GPU: the processors) in the last hours, 0 to 1,
    oldest first.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counters:
    """What only grows, at a moment."""

    at: float
    pid: int | None
    busy_ticks: int | None
    all_ticks: int | None
    written_bytes: int | None


class MachineBook:
    """Samples of this machine; rates are from one to the next."""

    def __init__(self, proc: Path = _PROC) -> None:
        self._proc = proc
        self._before: _Counters | None = None

    def sample(self, now: float, trainer: int | None) -> Machine:
        """As it is `now`, monotonic seconds; `trainer` is its pid. Of GPUs and disk nothing."""
        before = self._before
        self._before = counters = self._counters(now, trainer)
        memory = _table(self._proc / "meminfo")
        total, free = memory.get("MemTotal"), memory.get("MemAvailable")
        return Machine(
            cpu_share=_cpu_share(before, counters),
            ram_used_bytes=None if total is None or free is None else total - free,
            ram_bytes=total,
            trainer=None if trainer is None else self._process(before, counters),
        )

    def _counters(self, now: float, pid: int | None) -> _Counters:
        busy, of_all = _ticks(self._proc / "stat")
        written = None if pid is None else _table(self._proc / str(pid) / "io").get("write_bytes")
        return _Counters(at=now, pid=pid, busy_ticks=busy, all_ticks=of_all, written_bytes=written)

    def _process(self, before: _Counters | None, now: _Counters) -> Process:
        status = _table(self._proc / str(now.pid) / "status")
        return Process(
            rss_bytes=status.get("VmRSS"),
            peak_bytes=status.get("VmHWM"),
            write_rate=_write_rate(before, now),
        )


def _cpu_share(before: _Counters | None, now: _Counters) -> float | None:
    if before is None or before.all_ticks is None or now.all_ticks is None:
        return None
    if before.busy_ticks is None or now.busy_ticks is None or now.all_ticks <= before.all_ticks:
        return None
    share = (now.busy_ticks - before.busy_ticks) / (now.all_ticks - before.all_ticks)
    return min(max(share, 0.0), 1.0)  # the kernel's count of idle time may go back


def _write_rate(before: _Counters | None, now: _Counters) -> float | None:
    if before is None or before.pid != now.pid or now.at <= before.at:
        return None
    if before.written_bytes is None or now.written_bytes is None:
        return None
    return max(0, now.written_bytes - before.written_bytes) / (now.at - before.at)


def _ticks(path: Path) -> tuple[int | None, int | None]:
    """Of all processors together: busy, and in all (proc(5), stat)."""
    name, *counts = _text(path).partition("\n")[0].split()[:9] or [""]
    if name != "cpu" or len(counts) < 5 or not all(map(str.isdigit, counts)):
        return None, None
    ticks = [int(count) for count in counts]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)  # idle, and idle with a disk under way


def _table(path: Path) -> Mapping[str, int]:
    """Lines of `name: number`, or `name: number kB`, in bytes."""
    found = {}
    for line in _text(path).splitlines():
        name, _, rest = line.partition(":")
        value, *unit = rest.split() or [""]
        if value.isdigit():
            found[name] = int(value) * (1024 if unit == ["kB"] else 1)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

"""What a process uses of memory, and what the kernel counts of processes that it killed for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trainer.rundir.lock import boot_id

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_WHOLE_MACHINE = "/proc/vmstat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Of one process, as it saw itself while it lived; 0 and empty: unknown."""

    peak_bytes: int = 0
    """The most that was resident so far."""
    total_bytes: int = 0
    """The machine's."""
    boot_id: str = ""
    oom_kills: Mapping[str, int] = field(default_factory=dict)
    """By the kernel's file that counts them: of its control groups, then of the whole machine."""


def memory_of_self(proc: Path = PROC, cgroups: Path = CGROUPS) -> Memory:
    """Of this process; asks the kernel's files, some ten of them."""
    counters = [*_cgroup_counters(_text(proc / "self/cgroup"), cgroups), _WHOLE_MACHINE]
    counts = {path: count for path in counters if (count := _oom_kills(Path(path))) is not None}
    return Memory(
        peak_bytes=_kilobytes(_text(proc / "self/status"), "VmHWM:"),
        total_bytes=_kilobytes(_text(proc / "meminfo"), "MemTotal:"),
        boot_id=boot_id(),
        oom_kills=counts,
    )


def available_bytes(proc: Path = PROC) -> int:
    """What the machine could give to another process without swapping; 0: unknown."""
    return _kilobytes(_text(proc / "meminfo"), "MemAvailable:")


def kills_since(memory: Memory) -> Mapping[str, int]:
    """How many processes the kernel has killed for want of memory since, by counter.

    A control group that is gone has no count, but the ones around it count for it, too.
    """
    if not memory.boot_id or memory.boot_id != boot_id():
        return {}
    now = {path: _oom_kills(Path(path)) for path in memory.oom_kills}
    return {
        path: count - memory.oom_kills[path]
        for path, count in now.items()
        if count is not None and count > memory.oom_kills[path]
    }


def is_of_own_group(kills: Mapping[str, int]) -> bool:
    """Whether a control group of the process counts among them: then it was very likely it."""
    return any(path != _WHOLE_MACHINE for path in kills)


def _cgroup_counters(listed: str, cgroups: Path) -> list[str]:
    """The files that count for a process's control groups, its own first (cgroups(7))."""
    found = []
    for line in listed.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "memory":
            root, name = cgroups / "memory", "memory.oom_control"
        elif not controllers:
            root, name = cgroups, "memory.events"
        else:
            continue
        own = root / path.lstrip("/")
        around = [folder for folder in (own, *own.parents) if folder.is_relative_to(root)]
        found += [str(folder / name) for folder in around]
    return found


def _oom_kills(path: Path) -> int | None:
    for line in _text(path).splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill" and count.strip().isdigit():
            return int(count)
    return None


def _kilobytes(text: str, name: str) -> int:
    value = text.partition(name)[2].split(None, 1)[:1]
    return int(value[0]) * 1024 if value and value[0].isdigit() else 0


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

"""Which process started which."""

from pathlib import Path

_MOST_GENERATIONS = 64


def descends_from(pid: int, ancestor: int) -> bool:
    """Whether it is this process or was started by it, however indirectly."""
    for _ in range(_MOST_GENERATIONS):
        if pid == ancestor:
            return True
        parent = _parent_of(pid)
        if parent is None:
            return False
        pid = parent
    return False


def _parent_of(pid: int) -> int | None:
    """`None` for the first process, and for one that can't be seen from here."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[1]) or None

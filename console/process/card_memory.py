"""The memory of the graphics card: what is free, and what a trainer has of it."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from console.process.launch import output_of

_TOOL = "nvidia-smi"
_FORMAT = "--format=csv,noheader,nounits"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardMemory:
    """Of one card, bytes; None: not known."""

    card: str
    used_bytes: int | None
    """By the process that was asked about."""
    free_bytes: int | None


def card_memory(pid: int | None, index: int | None) -> CardMemory | None:
    """Of the card that process `pid` uses, else of card `index` or the only one; may block for
    seconds. None: there is no card, or nothing that tells of it.
    """
    if shutil.which(_TOOL) is None:
        return None
    cards = output_of([_TOOL, "--query-gpu=index,uuid,name,memory.free", _FORMAT])
    processes = output_of([_TOOL, "--query-compute-apps=gpu_uuid,pid,used_memory", _FORMAT])
    return parse_card_memory(cards, processes, pid, index)


def parse_card_memory(
    cards: str, processes: str, pid: int | None, index: int | None
) -> CardMemory | None:
    """The same from what the tool says; MiB there."""
    used = {
        uuid: bytes_used
        for uuid, of_pid, bytes_used in _rows(processes, 3)
        if pid is not None and of_pid == str(pid)
    }
    rows = list(_rows(cards, 4))
    for number, uuid, name, free in rows:
        is_wanted = uuid in used or (not used and (len(rows) == 1 or number == str(index)))
        if is_wanted:
            mine = _bytes(used.get(uuid, ""))
            return CardMemory(card=name, used_bytes=mine, free_bytes=_bytes(free))
    return None


def _rows(text: str, n: int) -> Iterator[list[str]]:
    for line in text.splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) == n:
            yield values


def _bytes(mebibytes: str) -> int | None:
    is_number = mebibytes.isascii() and mebibytes.isdigit()
    return int(mebibytes) * 2**20 if is_number else None

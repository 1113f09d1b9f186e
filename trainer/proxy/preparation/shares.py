"""One preparation by several machines: each encodes every n-th unit, and one puts them together.

A share has a folder of its own beside the tokens, with a journal as a whole preparation has. What
they make together is, byte for byte, what one process would have made.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trainer.proxy.preparation.encoding import UnitTokens
from trainer.proxy.preparation.parts import Parts
from trainer.rundir.atomic import write_atomic
from trainer.rundir.reading import read_file
from trainer.rundir.sources.left_out import LeftOut, left_out_from


@dataclass(frozen=True, slots=True)
class Share:
    """`number` of `of`, from 1: the units number - 1, number - 1 + of, …"""

    number: int
    of: int

    def folder(self, tokens: Path) -> Path:
        """Where it is made, in the folder of the source's tokens."""
        return tokens / f"share-{self.number}-of-{self.of}"


def end_share(folder: Path, key: str, left_out: LeftOut) -> None:
    """Tell that all units of the share are durable; raises `OSError`.

    `left_out`: of the files that whoever cuts the source into units reads itself.
    """
    told = {"key": key, "left_out": asdict(left_out)}
    write_atomic(folder / "done.partial", json.dumps(told).encode())


def is_done(folder: Path, key: str) -> bool:
    """Whether all units of the share are there, of what the key stands for."""
    return _told(folder, key) is not None


def missing_shares(tokens: Path, of: int, key: str) -> list[int]:
    """Numbers of the shares that are not done."""
    return [n for n in range(1, of + 1) if not is_done(Share(n, of).folder(tokens), key)]


def done_shares(tokens: Path, key: str) -> list[Path]:
    """The folders of all shares of a preparation, in order; none where one is missing."""
    counts = {int(path.name.rpartition("-")[2]) for path in tokens.glob("share-1-of-*")}
    for of in sorted(counts):
        if not missing_shares(tokens, of, key):
            return [Share(n, of).folder(tokens) for n in range(1, of + 1)]
    return []


def left_out_of(folder: Path, key: str) -> LeftOut:
    """What the maker of a share that is done has left out itself."""
    told = _told(folder, key)
    assert told is not None
    return left_out_from(told["left_out"])


def units_of_shares(
    folders: list[Path], key: str, first: int
) -> Iterator[tuple[dict[str, Any], UnitTokens]]:
    """All units in order, from number `first` on: what is told of each, and its tokens."""
    with ExitStack() as stack:
        shares = [stack.enter_context(Parts(folder, key)) for folder in folders]
        for number in range(first, sum(len(share.units) for share in shares)):
            yield shares[number % len(shares)].unit(number // len(shares))


def remove_shares(tokens: Path) -> None:
    """Those of a source whose tokens are whole."""
    for folder in tokens.glob("share-*-of-*"):
        shutil.rmtree(folder)


def _told(folder: Path, key: str) -> dict[str, Any] | None:
    try:
        told = json.loads(read_file(folder / "done.partial"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) and told.get("key") == key else None

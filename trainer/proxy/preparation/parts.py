"""What a preparation has on disk: files that grow by units, and a journal of whole ones."""

import hashlib
import json
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trainer.proxy.preparation.encoding import Encoded
from trainer.rundir.atomic import sync_directory
from trainer.rundir.reading import has_other_names

_FILES = ("train", "held_out", "digests")
_DIGEST_BYTES = 32


class Parts:
    """Of one source: `preparing.*.partial` in its folder, durable unit by unit.

    What was appended before a kill or a power cut is there again for the same `key`; a torn rest
    is cut off. Raises `OSError`.
    """

    def __init__(self, folder: Path, key: str) -> None:
        """`key`: of all that decides what the bytes will be; another one's parts are dropped."""
        self._folder = folder
        self._key = key
        self._paths = {name: folder / f"preparing.{name}.partial" for name in _FILES}
        self._journal_path = folder / "preparing.journal.partial"
        self.units: list[dict[str, Any]] = []
        """What was told of each unit that is whole."""
        self.sizes = dict.fromkeys(_FILES, 0)
        """Bytes of each file."""

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.units = self._whole_units()
        if self.units:
            self.sizes = self.units[-1]["sizes"]
        else:
            self._begin()
        with ExitStack() as stack:
            self._files = {n: stack.enter_context(p.open("r+b")) for n, p in self._paths.items()}
            for name, file in self._files.items():
                file.truncate(self.sizes[name])
                file.seek(self.sizes[name])
            self._journal = stack.enter_context(self._journal_path.open("ab"))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def append(self, encoded: Encoded, told: dict[str, Any]) -> None:
        """Make a unit durable; `told` is what is to be known of it after a kill."""
        data = {
            "train": encoded.train,
            "held_out": encoded.held_out,
            "digests": encoded.digests,
        }
        for name, file in self._files.items():
            file.write(data[name])
            file.flush()
            os.fdatasync(file.fileno())
        self.sizes = {name: size + len(data[name]) for name, size in self.sizes.items()}
        self._write_line({**told, "sizes": self.sizes})

    @property
    def documents(self) -> int:
        """How many there are."""
        return self.sizes["digests"] // _DIGEST_BYTES

    def fingerprint(self) -> str:
        """sha256 of the documents' sha256s, in order."""
        with self._paths["digests"].open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def finish(self, train: str, held_out: str) -> None:
        """Give the tokens their names; the rest goes."""
        self._paths["train"].replace(self._folder / train)
        self._paths["held_out"].replace(self._folder / held_out)
        self.drop()
        sync_directory(self._folder)

    def drop(self) -> None:
        """Take away what is unfinished in the folder, of this and of earlier preparations."""
        for path in self._folder.glob("*.partial"):
            path.unlink()

    def _begin(self) -> None:
        self.drop()
        for path in self._paths.values():
            path.touch()
        with self._journal_path.open("wb") as self._journal:
            self._write_line({"key": self._key})
        sync_directory(self._folder)

    def _write_line(self, told: dict[str, Any]) -> None:
        # json: names of any bytes, which orjson refuses
        self._journal.write(json.dumps(told).encode() + b"\n")
        self._journal.flush()
        os.fdatasync(self._journal.fileno())

    def _whole_units(self) -> list[dict[str, Any]]:
        """What the journal tells of units whose bytes are all there; a torn line ends it."""
        told = []
        with suppress(OSError), self._journal_path.open("rb") as journal:
            told = [_read(line) for line in journal]
        if not told or told[0] != {"key": self._key}:
            return []
        if any(map(has_other_names, (self._journal_path, *self._paths.values()))):
            return []  # of a copy by hard links (`cp -al`): what is written here is written there
        there = {name: _size(path) for name, path in self._paths.items()}
        whole: list[dict[str, Any]] = []
        for unit in told[1:]:
            sizes = unit.get("sizes", {})
            if sizes.keys() != there.keys() or any(there[n] < sizes[n] for n in there):
                break
            whole.append(unit)
        self._cut_journal(len(whole) + 1)
        return whole

    def _cut_journal(self, n_lines: int) -> None:
        with self._journal_path.open("r+b") as journal:
            for _ in range(n_lines):
                journal.readline()
            journal.truncate(journal.tell())


def _read(line: bytes) -> dict[str, Any]:
    try:
        told = json.loads(line) if line.endswith(b"\n") else {}
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1

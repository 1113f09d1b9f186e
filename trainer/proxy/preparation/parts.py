"""What a preparation has on disk: files that grow by units, and a journal of whole ones."""

import json
import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.preparation.documents import (
    RECORD,
    fingerprint_of_records,
    moved,
    origins_of,
    read_records,
)
from trainer.proxy.preparation.duplicates import copy_without, mark_duplicates
from trainer.proxy.preparation.encoding import UnitTokens
from trainer.rundir.atomic import sync_directory
from trainer.rundir.reading import has_other_names, reading

_FILES = ("train", "held_out", "documents")


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
        self.dropped: NDArray[np.bool_] | None = None
        """Of each document that there was, whether it was left out as a duplicate."""

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

    def append(self, encoded: UnitTokens, told: dict[str, Any], rows_before: int) -> None:
        """Make a unit durable; `told` is what is to be known of it after a kill.

        `rows_before`: of its file, in the units before it.
        """
        documents = moved(
            encoded.documents,
            train=self.sizes["train"],
            held_out=self.sizes["held_out"],
            rows=rows_before,
        )
        data = {"train": encoded.train, "held_out": encoded.held_out, "documents": documents}
        for name, file in self._files.items():
            file.write(data[name])
            file.flush()
            os.fdatasync(file.fileno())
        self.sizes = {name: size + len(data[name]) for name, size in self.sizes.items()}
        self._write_line({**told, "sizes": self.sizes})

    def unit(self, number: int) -> tuple[dict[str, Any], UnitTokens]:
        """What was told of a unit, and its tokens as they were before they were appended.

        But for rows before it: of a share there are none.
        """
        told = dict(self.units[number])
        sizes: dict[str, int] = told.pop("sizes")
        before = self.units[number - 1]["sizes"] if number else dict.fromkeys(_FILES, 0)
        data = {}
        for name, path in self._paths.items():
            with reading(path) as file:
                file.seek(before[name])
                data[name] = file.read(sizes[name] - before[name])
        documents = moved(
            data["documents"], train=-before["train"], held_out=-before["held_out"], rows=0
        )
        return told, UnitTokens(train=data["train"], held_out=data["held_out"], documents=documents)

    @property
    def documents(self) -> int:
        """How many there are."""
        return self.sizes["documents"] // RECORD.itemsize

    def fingerprint(self) -> str:
        """sha256 of the documents' sha256s, in order."""
        return fingerprint_of_records(read_records(self._paths["documents"]))

    def keep_held_out(self, spans: Iterable[tuple[int, int]]) -> None:
        """Let `finish` keep only these of the held-out bytes, from which to which.

        What the journal tells of stays as it is until then.
        """
        kept, size = self._folder / "preparing.kept.partial", 0
        with self._paths["held_out"].open("rb") as all_of_it, kept.open("wb") as file:
            for start, end in spans:
                all_of_it.seek(start)
                size += file.write(all_of_it.read(end - start))
            file.flush()
            os.fdatasync(file.fileno())
        self._paths["held_out"], self.sizes["held_out"] = kept, size

    def find_duplicates(self, check: Callable[[], None], *, drops: bool) -> int:
        """Count the documents that have the text of an earlier one; with `drops`, leave them out.

        What was durable unit by unit stays as it was until `finish`.
        """
        records = read_records(self._paths["documents"])
        marks = mark_duplicates(records, self.documents, self._folder, check)
        n_duplicates = int(np.count_nonzero(marks))
        if drops and n_duplicates:
            self.dropped = marks
            self._paths, self.sizes = copy_without(marks, self._paths, self._folder, check)
        return n_duplicates

    def held_out_documents(self) -> int:
        """How many have held-out text."""
        found, before = 0, 0
        for records in read_records(self._paths["documents"]):
            ends = records["held_out_end"]
            found += int(np.count_nonzero(np.diff(ends, prepend=np.uint64(before))))
            before = ends[-1]
        return found

    def text_bytes(self) -> int:
        """Of all documents."""
        return sum(int(r["text_bytes"].sum()) for r in read_records(self._paths["documents"]))

    def finish(self, train: str, held_out: str, origins: str, item_bytes: int) -> None:
        """Give the tokens their names, and keep where they come from; the rest goes."""
        kept = self._folder / "preparing.origins.partial"
        with kept.open("wb") as file:
            for records in read_records(self._paths["documents"]):
                file.write(origins_of(records, item_bytes))
            file.flush()
            os.fdatasync(file.fileno())
        kept.replace(self._folder / origins)
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

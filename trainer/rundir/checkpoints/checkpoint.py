"""Checkpoints: `[int32 step][int32 n_params][weights][m][v]`, little-endian float32 arrays.

`step` is the number of optimiser updates applied; the size is 8 + 12 × n_params bytes. A file
under its final name is whole: it is written beside that name, its size reserved first, synced,
renamed, and its directory synced.
"""

import contextlib
import errno
import hashlib
import os
import re
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from trainer.rundir.atomic import move_aside, sync_directory, write_fully
from trainer.rundir.checkpoints.cloning import digest_of
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.reading import open_regular, read_head, reading

INT32_MAX = 2**31 - 1
_HEADER = struct.Struct("<ii")
_NAME = re.compile(r"step_([0-9]+)\.bin")
_PARTIAL = ".checkpoint.partial"
"""One name for all, so that what a killed save left behind is the next save's to reuse."""
CHUNK_BYTES = 2 << 20
_FLUSH_BYTES = 64 << 20
"""Written bytes after which the disk is told to take them, so that it has no pause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint on disk whose size, header and name agree."""

    step: int
    path: Path
    n_bytes: int
    modified: float
    """Wall clock, seconds: when the file was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file named like a checkpoint that no resume may take, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All checkpoints of a run by ascending step, and the files that were not taken for one."""

    checkpoints: tuple[Checkpoint, ...]
    skipped: tuple[Skipped, ...]
    uncovered: tuple[Checkpoint, ...] = ()
    """Of the skipped files those that only the history rules out, by ascending step."""

    @property
    def newest(self) -> Checkpoint | None:
        return self.checkpoints[-1] if self.checkpoints else None

    @property
    def why_uncovered(self) -> str:
        """The reason that the uncovered ones share; empty if there are none."""
        paths = {checkpoint.path for checkpoint in self.uncovered}
        return next((skip.reason for skip in self.skipped if skip.path in paths), "")

    def at(self, step: int) -> Checkpoint | None:
        """The checkpoint of `step`."""
        return next((found for found in self.checkpoints if found.step == step), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a finished save left on disk."""

    path: Path
    n_bytes: int
    sha256: str
    seconds: float
    aside: Path | None = None
    """Where a file is kept that had the name, and was not the same."""


def checkpoint_bytes(n_params: int) -> int:
    """Size of a checkpoint file in bytes: 8 + 12 × n_params."""
    return _HEADER.size + 12 * n_params


def checkpoint_name(step: int) -> str:
    """`step_NNNNNN.bin`: six digits, more when needed."""
    return f"step_{step:06d}.bin"


def check_limits(*, step: int, n_params: int) -> None:
    """Raise `HistoryError` where the int32 header can't hold the numbers."""
    for what, value in (("steps", step), ("parameters", n_params)):
        if not 0 <= value <= INT32_MAX:
            msg = (
                f"{value:,} {what} don't fit the checkpoint's int32 header (at most {INT32_MAX:,})"
            )
            raise HistoryError(msg)


def write_checkpoint(directory: Path, step: int, arrays: Sequence[memoryview]) -> Written:
    """Write weights, m and v (three equally long float32 buffers) as the checkpoint of `step`.

    Durable when it returns. A file that already has the name and is not the same, byte for byte,
    is moved aside, never deleted. Raises `OSError`; nothing half-written stays then.
    """
    views = [memoryview(array).cast("B") for array in arrays]
    n_params = views[0].nbytes // 4
    if len(views) != 3 or any(view.nbytes != 4 * n_params for view in views):
        raise AssertionError("a checkpoint is three float32 arrays of one length")
    return write_chunks(directory, step, n_params, chunks_of(views))


def chunks_of(views: Sequence[memoryview]) -> Iterator[memoryview]:
    """Byte views of 2 MiB at most, in order: what is written, and hashed, at a time."""
    for view in views:
        for start in range(0, view.nbytes, CHUNK_BYTES):
            yield view[start : start + CHUNK_BYTES]


def write_chunks(
    directory: Path, step: int, n_params: int, chunks: Iterable[memoryview]
) -> Written:
    """As `write_checkpoint`, from chunks that together are weights, m and v.

    Each chunk is done with when the next one is asked for.
    """
    started = time.monotonic()
    check_limits(step=step, n_params=n_params)
    final = directory / checkpoint_name(step)
    beside = directory / _PARTIAL
    try:
        sha256 = _write_partial(beside, _HEADER.pack(step, n_params), n_params, chunks)
        aside = _make_way(final, step, n_params, sha256)
        beside.rename(final)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()  # it has its name by now, unless something went wrong
    sync_directory(directory)
    return Written(
        path=final,
        n_bytes=checkpoint_bytes(n_params),
        sha256=sha256,
        seconds=time.monotonic() - started,
        aside=aside,
    )


def _write_partial(path: Path, header: bytes, n_params: int, chunks: Iterable[memoryview]) -> str:
    digest = hashlib.sha256(header)
    fd = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, follows_links=False)
    try:
        _reserve(fd, checkpoint_bytes(n_params))
        write_fully(fd, header)
        _write_and_hash(fd, chunks, digest)
        if os.lseek(fd, 0, os.SEEK_CUR) != checkpoint_bytes(n_params):
            raise AssertionError("the chunks are not weights, m and v")
        os.fsync(fd)
    finally:
        os.close(fd)
    return digest.hexdigest()


def _write_and_hash(fd: int, chunks: Iterable[memoryview], digest: "hashlib._Hash") -> None:
    """Write while a thread hashes the same chunk and another has the disk take what is there."""
    with ThreadPoolExecutor(2, thread_name_prefix="beside-write") as beside:
        flushed = beside.submit(os.fdatasync, fd)
        unflushed_bytes = 0
        for chunk in chunks:
            hashed = beside.submit(digest.update, chunk)
            try:
                write_fully(fd, chunk)
            finally:
                hashed.result()
            unflushed_bytes += chunk.nbytes
            if unflushed_bytes >= _FLUSH_BYTES and flushed.done():
                flushed.result()
                flushed, unflushed_bytes = beside.submit(os.fdatasync, fd), 0
        flushed.result()


def _reserve(fd: int, n_bytes: int) -> None:
    """Let a full disk say so before the first byte; a file system that can't is no error."""
    try:
        os.posix_fallocate(fd, 0, n_bytes)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise


def _make_way(path: Path, step: int, n_params: int, sha256: str) -> Path | None:
    """Keep what has the name under another one, unless it is whole and has these very bytes."""
    found = inspect_checkpoint(path, step, n_params)
    if found is None or (isinstance(found, Checkpoint) and digest_of(path) == sha256):
        return None
    return move_aside(path, "rejected")


def read_checkpoint_into(checkpoint: Checkpoint, arrays: Sequence[memoryview]) -> None:
    """Fill weights, m and v (three float32 buffers) from the file, without a copy between.

    Raises `HistoryError` if the file ends early, `OSError` if it can't be read.
    """
    with reading(checkpoint.path) as file:
        file.seek(_HEADER.size)
        for array in arrays:
            rest = memoryview(array).cast("B")
            while rest:
                n_read = file.readinto(rest)
                if not n_read:
                    raise HistoryError(f"{checkpoint.path}: ends early; use an older checkpoint")
                rest = rest[n_read:]


def list_checkpoints(directory: Path, n_params: int | None) -> Inventory:
    """Every file named like a checkpoint: taken or skipped with its reason; newest by number.

    By the files alone: which of them are a run's is for `coverage.own_checkpoints` to say.

    `n_params` is the model's; `None` (a foreign trainer) takes the header's word for it.
    """
    checkpoints: list[Checkpoint] = []
    skipped: list[Skipped] = []
    try:
        names = [path.name for path in directory.iterdir()]
    except FileNotFoundError:
        names = []
    for name in names:
        if not (match := _NAME.fullmatch(name)):
            continue
        found = inspect_checkpoint(directory / name, int(match[1]), n_params)
        if isinstance(found, Checkpoint):
            checkpoints.append(found)
        elif found is not None:
            skipped.append(found)
    checkpoints.sort(key=lambda checkpoint: checkpoint.step)
    skipped.sort(key=lambda skip: skip.path.name)
    return Inventory(checkpoints=tuple(checkpoints), skipped=tuple(skipped))


def inspect_checkpoint(path: Path, step: int, n_params: int | None) -> Checkpoint | Skipped | None:
    """Judge one file by name, size and header; `None` if it went away meanwhile."""
    try:
        header, stat = read_head(path, _HEADER.size)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Skipped(path=path, reason=f"can't be read: {error.strerror}")
    reason = _reason_to_skip(path.name, step, header, stat.st_size, n_params)
    if reason:
        return Skipped(path=path, reason=reason)
    return Checkpoint(step=step, path=path, n_bytes=stat.st_size, modified=stat.st_mtime)


def _reason_to_skip(
    name: str, step: int, header: bytes, size: int, n_params: int | None
) -> str | None:
    if name != checkpoint_name(step):
        return f"name is not {checkpoint_name(step)}"
    if len(header) < _HEADER.size:
        return f"{size} bytes: too short for a header"
    header_step, header_params = _HEADER.unpack(header)
    if header_step != step:
        return f"header says step {header_step}, name says {step}"
    if n_params is not None and header_params != n_params:
        return f"header says {header_params:,} parameters, the model has {n_params:,}"
    expected = checkpoint_bytes(header_params)
    if header_params < 0 or size != expected:
        return f"{size:,} bytes instead of {expected:,}"
    return None

"""The os functions that change files, recorded, and made to fail one at a time."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

FOLDER = "run"
_BY_PATH = ("open", "link", "rename", "replace")
_BY_DESCRIPTOR = ("posix_fallocate", "write", "pwrite", "ftruncate", "fsync", "close")


@contextmanager
def recorded_os(fail_at: int | None = None, error: int = errno.EIO) -> Iterator[list[str]]:
    """Yields the calls so far, as `fsync NAME`; call number `fail_at` (from 0) fails with `error`.

    A descriptor is closed even where its `close` fails, as the kernel does it.
    """
    calls: list[str] = []
    names: dict[int, str] = {}

    def wrap(function: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *rest: Any, **named: Any) -> Any:
            name = names.get(first, "?") if isinstance(first, int) else Path(first).name
            calls.append(f"{function} {name}")
            must_fail = len(calls) - 1 == fail_at
            if must_fail and function != "close":
                raise OSError(error, os.strerror(error), name)
            result = real(first, *rest, **named)
            if function == "open":
                names[result] = name
            if must_fail:
                raise OSError(error, os.strerror(error), name)
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for function in (*_BY_PATH, *_BY_DESCRIPTOR):
            patch.setattr(os, function, wrap(function, getattr(os, function)))
        yield calls


def each_fault(act: Callable[[Path], object], folder: Path) -> Iterator[tuple[str, Path]]:
    """Let `act` meet ENOSPC and EIO at each of its calls, each time in a folder of its own.

    Yields the call that failed and the folder (called `FOLDER`) it was in.
    """
    with recorded_os() as calls:
        act(_make(folder / "no fault"))
    for number, call in enumerate(calls):
        for error in (errno.ENOSPC, errno.EIO):
            here = _make(folder / f"{number} {errno.errorcode[error]}")
            with recorded_os(number, error), suppress(OSError):
                act(here)
            yield call, here


def _make(parent: Path) -> Path:
    folder = parent / FOLDER
    folder.mkdir(parents=True)
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    """Name → bytes of every file there."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

"""Disks that fail: an errno in place of chosen file operations on one directory."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from trainer.rundir.directory import with_names

CALLS = ("open", "write", "pwrite", "posix_fallocate", "fsync", "rename", "replace")
"""The calls that make, fill or name a file, each of which may fail."""


class FailingDisk:
    """Counts the writing calls on files of a directory, and fails those that `fails` names."""

    def __init__(self, directory: Path, code: int, fails: Callable[[str, str], bool]) -> None:
        """`fails`: by the call's name and the file's, asked for each call."""
        self.calls: list[tuple[str, str]] = []
        self.failed: list[tuple[str, str]] = []
        self._directory = directory
        self._code = code
        self._fails = fails
        self._names: dict[int, str] = {}

    @contextmanager
    def mounted(self) -> Iterator["FailingDisk"]:
        with pytest.MonkeyPatch.context() as patch:
            for call in CALLS:
                patch.setattr(os, call, self._wrapped(call, getattr(os, call)))
            yield self

    def _wrapped(self, call: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(target: Any, *arguments: Any, **options: Any) -> Any:
            name = self._name_of(call, target, arguments)
            if name:
                self.calls.append((call, name))
                if self._fails(call, name):
                    self.failed.append((call, name))
                    raise OSError(self._code, os.strerror(self._code), name)
            result = real(target, *arguments, **options)
            if call == "open":
                self._names[result] = name
            return result

        return wrapper

    def _name_of(self, call: str, target: Any, arguments: tuple[Any, ...]) -> str:
        """The file's name if the call would change something in the directory, else empty."""
        if isinstance(target, int):
            return self._names.get(target, "")
        path = Path(with_names(str(target)))
        if call == "open" and path == self._directory:
            return "directory"
        is_read = call == "open" and not arguments[0] & (os.O_WRONLY | os.O_RDWR)
        return path.name if path.parent == self._directory and not is_read else ""


def once_after_a_save(call: str, name: str) -> Callable[[str, str], bool]:
    """Only the first such call on such a file fails, once a checkpoint has got its name."""
    has_saved = has_failed = False

    def fails(this_call: str, this_name: str) -> bool:
        nonlocal has_saved, has_failed
        is_meant = has_saved and not has_failed and (this_call, this_name) == (call, name)
        has_failed |= is_meant
        has_saved |= (this_call, this_name) == ("rename", ".checkpoint.partial")
        return is_meant

    return fails

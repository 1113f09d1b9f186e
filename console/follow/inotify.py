"""The kernel's notices of what changes in a directory: inotify(7), waited for by asyncio.

Without a thread and without a look twenty times a second, as watching libraries have it.
"""

import asyncio
import ctypes
import errno
import os
import struct
from pathlib import Path

_MODIFY, _ATTRIB, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_ONLYDIR = 0x1000000
_CHANGES = _MODIFY | _ATTRIB | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_MASK = _CHANGES | _DELETE_SELF | _MOVE_SELF | _ONLYDIR
_EVENT = struct.Struct("=iIII")
"""Watch, what, a cookie, how long the name behind it is."""
_READ_BYTES = 1 << 16
_LEFT = {
    errno.EMFILE: "no inotify instance is left (fs.inotify.max_user_instances)",
    errno.ENOSPC: "no inotify watch is left (fs.inotify.max_user_watches)",
}
_libc = ctypes.CDLL(None, use_errno=True)


class Notices:
    """Of one directory: of the names in it and of itself, not of what lies in its folders."""

    def __init__(self, directory: Path) -> None:
        """Raises `OSError` where it can't be watched, and why."""
        self._fd = _called("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _called("inotify_add_watch", self._fd, os.fsencode(directory), _MASK)
        except OSError:
            self.close()
            raise

    async def wait(self, seconds: float) -> bool:
        """Until there is one, at most so long; whether there is."""
        came, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_reader(self._fd, came.set)
        try:
            async with asyncio.timeout(seconds):
                await came.wait()
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(self._fd)
        return True

    def take(self) -> set[str]:
        """The names of all so far; empty for the directory itself, or where some were lost."""
        names: set[str] = set()
        while True:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                return names
            at = 0
            while at < len(data):
                n_bytes = _EVENT.unpack_from(data, at)[3]
                at += _EVENT.size + n_bytes
                names.add(os.fsdecode(data[at - n_bytes : at].rstrip(b"\0")))

    def close(self) -> None:
        os.close(self._fd)


def _called(name: str, *arguments: int | bytes) -> int:
    function = getattr(_libc, name, None)
    if function is None:
        raise OSError(errno.ENOSYS, "this system has no inotify")
    result: int = function(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, _LEFT.get(number, os.strerror(number)))
    return result

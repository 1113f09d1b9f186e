"""A file system of a few files in one directory, spoken with the kernel over `/dev/fuse`.

Only what a loop device needs of it: look up, open, read, write, sync. One request at a time, so
the order in which the files see writes and syncs is the order in which the kernel was told that
they are done.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

_DEVICE = Path("/dev/fuse")
_VERSION = (7, 31)
_MAX_WRITE_BYTES = 1 << 20
_MAX_PAGES = _MAX_WRITE_BYTES // 4096
_REQUEST_BYTES = _MAX_WRITE_BYTES + 4096
_BIG_WRITES, _SETS_MAX_PAGES = 1 << 5, 1 << 22
_DIRECT_IO = 1
"""Of an open: the kernel keeps no copy of the file, each read and write comes here."""
_LONG_SECONDS = 3600

_REQUEST = struct.Struct("<IIQQIIIHH")
_ANSWER = struct.Struct("<IiQ")
_ATTRIBUTES = struct.Struct("<6Q10I")
_ENTRY = struct.Struct("<4Q2I")
_TIME_TO_LIVE = struct.Struct("<Q2I")
_OPENED = struct.Struct("<QII")
_READ_OR_WRITE = struct.Struct("<QQIIQII")
_WRITTEN = struct.Struct("<II")
_INIT = struct.Struct("<4I2H2I2H8I")

_ROOT = 1
_FORGET, _INTERRUPT, _FORGET_MANY = 2, 36, 42
"""Requests that want no answer."""


class File(Protocol):
    """A file of a size that stays."""

    @property
    def n_bytes(self) -> int: ...
    def read(self, offset: int, n_bytes: int) -> bytes: ...
    def write(self, offset: int, data: bytes) -> None: ...
    def sync(self) -> None: ...


class FlatFileSystem:
    """These files by their names, mounted until somebody unmounts them."""

    def __init__(self, mountpoint: Path, files: Mapping[str, File]) -> None:
        """Mount; nothing is answered before `serve`. Raises `OSError` without the right to."""
        self._files = list(files.values())
        self._nodes = {name.encode(): node for node, name in enumerate(files, start=_ROOT + 1)}
        self._answers: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._look_up,
            3: self._attributes,
            4: self._attributes,  # a time is set, or what is no size of ours
            14: self._open,
            15: self._read,
            16: self._write,
            18: _nothing,  # the last close
            20: self._sync,
            25: _nothing,  # a close
            26: _begin,
            38: _nothing,  # the end
        }
        self._fd = os.open(_DEVICE, os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._fd},rootmode=40000,user_id=0,group_id=0"
        mount("power_cuts", mountpoint, "fuse", options=options)

    def serve(self) -> None:
        """Answer requests until it is unmounted."""
        while True:
            try:
                request = os.read(self._fd, _REQUEST_BYTES)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return
                if error.errno not in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                    raise
            else:
                self._serve(request)

    def _serve(self, request: bytes) -> None:
        _, operation, unique, node, *_ = _REQUEST.unpack_from(request)
        if operation in (_FORGET, _INTERRUPT, _FORGET_MANY):
            return
        code, body = 0, b""
        try:
            if operation not in self._answers:
                raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
            body = self._answers[operation](node, request[_REQUEST.size :])
        except OSError as error:
            code = error.errno or errno.EIO
        head = _ANSWER.pack(_ANSWER.size + len(body), -code, unique)
        try:
            os.writev(self._fd, [head, body])
        except OSError as error:
            if error.errno != errno.ENOENT:  # the one who asked has gone
                raise

    def _file(self, node: int) -> File:
        return self._files[node - _ROOT - 1]

    def _look_up(self, _: int, body: bytes) -> bytes:
        node = self._nodes.get(body.rstrip(b"\0"))
        if node is None:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        return _ENTRY.pack(node, 0, _LONG_SECONDS, _LONG_SECONDS, 0, 0) + self._stat(node)

    def _attributes(self, node: int, _: bytes) -> bytes:
        return _TIME_TO_LIVE.pack(_LONG_SECONDS, 0, 0) + self._stat(node)

    def _stat(self, node: int) -> bytes:
        size = 0 if node == _ROOT else self._file(node).n_bytes
        mode = stat.S_IFDIR | 0o700 if node == _ROOT else stat.S_IFREG | 0o600
        times_and_owner = (0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
        return _ATTRIBUTES.pack(node, size, size // 512, 0, 0, 0, *times_and_owner)

    def _open(self, *_: object) -> bytes:
        return _OPENED.pack(0, _DIRECT_IO, 0)

    def _read(self, node: int, body: bytes) -> bytes:
        _, offset, n_bytes, *_ = _READ_OR_WRITE.unpack_from(body)
        return self._file(node).read(offset, n_bytes)

    def _write(self, node: int, body: bytes) -> bytes:
        _, offset, n_bytes, *_ = _READ_OR_WRITE.unpack_from(body)
        self._file(node).write(offset, body[_READ_OR_WRITE.size :][:n_bytes])
        return _WRITTEN.pack(n_bytes, 0)

    def _sync(self, node: int, _: bytes) -> bytes:
        self._file(node).sync()
        return b""


def _begin(*_: object) -> bytes:
    flags = _BIG_WRITES | _SETS_MAX_PAGES
    queue = (16, 12)
    return _INIT.pack(
        *(*_VERSION, 0, flags, *queue, _MAX_WRITE_BYTES, 1, _MAX_PAGES, 0), *([0] * 8)
    )


def _nothing(*_: object) -> bytes:
    return b""


_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: Path, kind: str, *, flags: int = 0, options: str = "") -> None:
    """mount(2). Raises `OSError`."""
    texts = [text.encode() for text in (source, str(target), kind)]
    require(_libc.mount(*texts, ctypes.c_ulong(flags), options.encode()), str(target))


def require(result: int, what: str) -> None:
    """Raise the `OSError` of a C call that has just failed."""
    if result:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what)

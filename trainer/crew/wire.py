"""Lines of JSON between rank 0 and another rank: orders one way, signs of life both ways."""

import socket
import threading
from collections.abc import Mapping
from typing import Any

import orjson

Told = dict[str, Any]

_MOST_BYTES = 1 << 20
"""Of a line; what sends more is none of ours."""


class Wire:
    """One end of a connection; any thread may send, one receives."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection
        self._lock = threading.Lock()
        self._rest = b""

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, told: Mapping[str, Any]) -> None:
        """Raises `OSError` where the other end is gone."""
        with self._lock:
            self._socket.sendall(orjson.dumps(told) + b"\n")

    def receive(self) -> list[Told]:
        """What has come; blocks until something has. Raises `OSError`, `EOFError` at the end."""
        data = self._socket.recv(1 << 16)
        if not data or len(self._rest) > _MOST_BYTES:
            raise EOFError
        *lines, self._rest = (self._rest + data).split(b"\n")
        try:
            return [told for line in lines if isinstance(told := orjson.loads(line), dict)]
        except orjson.JSONDecodeError as error:
            raise EOFError from error

    def close(self) -> None:
        self._socket.close()


def ticks_of(seconds: float) -> tuple[float, int]:
    """How often to give a sign of life, and how many missing ones are a rank that is lost.

    Counted, not timed: a process that was itself stopped for a while has only one missing.
    """
    tick = min(1.0, seconds / 10)
    return tick, max(2, round(seconds / tick))

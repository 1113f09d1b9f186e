"""`actions.jsonl`: what operators did to the run, one line each, written in one append."""

import getpass
import os
import socket
import time
from pathlib import Path
from typing import Any

import orjson


def log_action(path: Path, action: str, outcome: str, **facts: Any) -> None:
    """Append one line: wall-clock time `t` (seconds), user, host, `action`, `outcome`, facts.

    Raises `OSError` if the line can't be written.
    """
    record = {
        "t": time.time(),
        "user": _user(),
        "host": socket.gethostname(),
        "action": action,
        "outcome": outcome,
        **facts,
    }
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, orjson.dumps(record) + b"\n")
    finally:
        os.close(fd)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())

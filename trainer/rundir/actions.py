"""`actions.jsonl`: what operators did to the run, one line each, written in one append."""

import errno
import getpass
import os
import socket
import time
from pathlib import Path
from typing import Any

import orjson

from trainer.rundir.atomic import part_from_others
from trainer.rundir.names import told
from trainer.rundir.reading import open_regular


def log_action(path: Path, action: str, outcome: str, **facts: Any) -> None:
    """Append one line: wall-clock time `t` (seconds), user, host, `action`, `outcome`, facts.

    Raises `OSError` if the line can't be written.
    """
    record = {
        "t": time.time(),
        "user": _user(),
        "host": socket.gethostname(),
        "action": action,
        "outcome": told(outcome, keep_newlines=True),
        **facts,
    }
    part_from_others(path)
    fd = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, follows_links=False)
    try:
        line = orjson.dumps(record, default=str) + b"\n"
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            line = b"\n" + line  # a torn line spoils itself only
        if os.write(fd, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(fd)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())

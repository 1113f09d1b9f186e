"""Reading a long history in a child process, while this one loads the console.

Parsing 200,000 records holds the interpreter's lock for a third of a second, and so does loading
Textual: in two processes they take half the time, and the screen answers keys meanwhile.
"""

import contextlib
import fcntl
import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from console.view.cached_file import read_news
from console.view.loss_history import History
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.loss_record import LossRecord, read_loss_records
from trainer.rundir.records.record_file import RecordTail

WORTH_A_CHILD_BYTES = 8 << 20
_PIPE_BYTES = 1 << 20
"""A history is some megabytes: through the default 64 KiB they take twice the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadHistory:
    """A history, and the tail to go on from."""

    tail: RecordTail[LossRecord]
    history: History
    damaged_lines: int


def read_history(path: Path) -> ReadHistory:
    """All of it, as it is now."""
    tail, history, damaged_lines = RecordTail(path, read_loss_records), History(), 0
    has_more = True
    while has_more:
        news = read_news(tail)
        history.add(news.records)
        damaged_lines += news.damaged_lines
        has_more = news.has_more
    return ReadHistory(tail=tail, history=history, damaged_lines=damaged_lines)


class ReadAhead:
    """A child that reads; forked, so only while this process has no other thread."""

    def __init__(self, path: Path) -> None:
        context = multiprocessing.get_context("fork")
        self._receiver, sender = context.Pipe(duplex=False)
        with contextlib.suppress(OSError):  # more than this user may have: slower, no more
            fcntl.fcntl(sender.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._child = context.Process(target=_send, args=(path, sender), daemon=True)
        self._child.start()
        sender.close()

    @property
    def pid(self) -> int:
        """Of the child."""
        return self._child.pid or 0

    def take(self, timeout_seconds: float) -> ReadHistory | None:
        """What it read, `None` if that takes longer.

        Raises:
            EOFError: the child is gone without a result.
        """
        if self._receiver.closed:
            raise EOFError
        if not self._receiver.poll(timeout_seconds):
            return None
        try:
            read: ReadHistory = self._receiver.recv()
        finally:
            self._receiver.close()
            self._child.join()
        return read


def begin_reading(arguments: Sequence[str]) -> ReadAhead | None:
    """Read ahead in the run that a command line starts with, before what shows it is loaded."""
    return read_ahead(RunDirectory(Path(arguments[0])).loss) if arguments else None


def read_ahead(path: Path) -> ReadAhead | None:
    """Start the child where the history is long enough to be worth one."""
    try:
        is_long = path.stat().st_size >= WORTH_A_CHILD_BYTES
    except OSError:
        return None
    return ReadAhead(path) if is_long else None


def _send(path: Path, sender: "Connection[ReadHistory, object]") -> None:
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):  # the console left
        sender.send(read_history(path))

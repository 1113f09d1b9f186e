"""A real console in a real pseudo-terminal that goes away, in every way."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from console.terminal import is_gone
from trainer.rundir.layout import RunDirectory

SECONDS = 30.0


@contextmanager
def console_in_terminal(run: RunDirectory) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A console that has drawn its screen, and the far end of its terminal.

    The terminal doesn't control it, so the kernel sends it no SIGHUP: it has to notice.
    """
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "console", str(run.path), "--no-launch"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    os.close(theirs)
    try:
        read_until(ours, b"checkpoint yet")
        yield child, ours
    finally:
        with contextlib.suppress(OSError):
            os.close(ours)
        child.kill()
        child.wait()


def read_until(fd: int, text: bytes) -> bytes:
    """All that the terminal was sent up to this text."""
    seen, deadline = b"", time.monotonic() + SECONDS
    while text not in seen:
        assert time.monotonic() < deadline, f"waited in vain for {text!r} in {seen[-2000:]!r}"
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 65_536)
    return seen


def test_a_terminal_that_hung_up_is_gone_and_another_is_not() -> None:
    ours, theirs = pty.openpty()
    assert not is_gone(theirs)
    os.close(ours)
    assert is_gone(theirs)
    os.close(theirs)
    assert is_gone(theirs)


def test_a_console_ends_by_itself_when_its_terminal_is_gone(run: RunDirectory) -> None:
    with console_in_terminal(run) as (child, ours):
        os.close(ours)
        assert child.wait(SECONDS) == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_the_console_in_order(run: RunDirectory, number: signal.Signals) -> None:
    with console_in_terminal(run) as (child, ours):
        child.send_signal(number)
        end = read_until(ours, b"come back with: andrea-console")
        assert b"\x1b[?1049l" in end
        assert child.wait(SECONDS) == 0

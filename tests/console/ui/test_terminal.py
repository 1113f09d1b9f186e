"""A real console in a real pseudo-terminal that goes away, in every way."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO

import pytest

from console.ui.terminal import is_gone
from trainer.rundir.layout import RunDirectory

SECONDS = 30.0


COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


@contextmanager
def console_in_terminal(
    run: RunDirectory, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], FileIO, bytes]]:
    """A console that has drawn its screen, the far end of its terminal, and what it sent there.

    The terminal doesn't control it, so the kernel sends it no SIGHUP: it has to notice.
    """
    fd, theirs = pty.openpty()
    ours = FileIO(fd, "r+")
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    child = subprocess.Popen(
        [sys.executable, "-m", "console", str(run.path), "--no-launch"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**inherited, "TERM": "xterm-256color", **environment},
    )
    os.close(theirs)
    try:
        yield child, ours, read_until(ours, b"checkpoint yet")
    finally:
        ours.close()
        child.kill()
        child.wait()


def read_until(terminal: FileIO, text: bytes) -> bytes:
    """All that the terminal was sent up to this text."""
    seen, deadline = b"", time.monotonic() + SECONDS
    while text not in seen:
        assert time.monotonic() < deadline, f"waited in vain for {text!r} in {seen[-2000:]!r}"
        if select.select([terminal], [], [], 0.1)[0]:
            seen += terminal.read(65_536) or b""
    return seen


def test_a_terminal_that_hung_up_is_gone_and_another_is_not() -> None:
    ours, theirs = pty.openpty()
    assert not is_gone(theirs)
    os.close(ours)
    assert is_gone(theirs)
    os.close(theirs)
    assert is_gone(theirs)


def test_the_mouse_is_heard_but_not_its_mere_motion(run: RunDirectory) -> None:
    with console_in_terminal(run) as (_, _, seen):
        assert b"\x1b[?1002h" in seen
        assert b"\x1b[?1003h" not in seen


def test_a_click_on_the_chart_is_a_click_on_what_is_drawn_there(run: RunDirectory) -> None:
    steps = range(1, 101)
    records = ",\n".join(f'{{"step":{step},"loss":2.5,"ema":2.5}}' for step in steps)
    run.loss.write_text(f"[\n{records}\n]\n")
    with console_in_terminal(run, LC_ALL="C.UTF-8") as (_, ours, _):
        ours.write(b"\x1b[<0;40;12M\x1b[<0;40;12m")
        seen = read_until(ours, " · loss 2.500000 ·".encode())
    assert re.search(rb"step 4\d ", seen)


def test_a_console_ends_by_itself_when_its_terminal_is_gone(run: RunDirectory) -> None:
    with console_in_terminal(run) as (child, ours, _):
        ours.close()
        assert child.wait(SECONDS) == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_the_console_in_order(run: RunDirectory, number: signal.Signals) -> None:
    with console_in_terminal(run) as (child, ours, _):
        child.send_signal(number)
        end = read_until(ours, b"come back with: andrea-console")
        assert b"\x1b[?1049l" in end
        assert child.wait(SECONDS) == 0


def test_no_colour_is_sent_where_none_is_wanted(run: RunDirectory) -> None:
    with console_in_terminal(run, NO_COLOR="1") as (_, _, sent):
        assert COLOUR.findall(sent) == []


def test_only_the_sixteen_colours_of_the_terminal_are_sent(run: RunDirectory) -> None:
    with console_in_terminal(run, COLORTERM="truecolor") as (_, _, sent):
        assert COLOUR.findall(sent)
        assert b"38;2;" not in sent
        assert b"38;5;" not in sent

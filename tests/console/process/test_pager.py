"""The operator's pager."""

import asyncio
import signal
from pathlib import Path

import pytest

from console.process.launch import run_in_terminal
from console.process.pager import pager_command
from trainer.rundir.lock import process_start_time


@pytest.mark.parametrize(
    ("pager", "command"),
    [
        ("", ["less", "-n", "+7P"]),
        ("/usr/bin/less -S", ["/usr/bin/less", "-S", "-n", "+7P"]),
        ("more", ["more"]),
        ("'unclosed", ["less", "-n", "+7P"]),
    ],
)
def test_less_opens_at_the_byte_and_another_pager_at_the_beginning(
    pager: str, command: list[str]
) -> None:
    path = Path("-run") / "trainer.log"
    assert pager_command({"PAGER": pager}, path, 7) == [*command, "--", "-run/trainer.log"]


async def test_a_pager_that_isnt_there_is_told_and_one_that_fails_is_its_own_matter() -> None:
    assert await run_in_terminal(["no-such-pager"]) == "no-such-pager: No such file or directory"
    assert await run_in_terminal(["false"]) == ""


@pytest.mark.parametrize("heeds", ["", "trap '' TERM; "])
async def test_a_program_whose_waiting_is_cancelled_is_ended_whatever_it_heeds(
    heeds: str, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    ready.with_suffix(".tmp").write_text("")
    script = f"{heeds}echo $$ > {tmp_path}/pid; mv {tmp_path}/ready.tmp {ready}; exec sleep 600"
    task = asyncio.create_task(run_in_terminal(["sh", "-c", script]))
    while not ready.exists():
        await asyncio.sleep(0.01)
    pid = int((tmp_path / "pid").read_text())
    before = signal.getsignal(signal.SIGINT)
    assert before is signal.SIG_IGN, "Ctrl+C is the program's own"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert process_start_time(pid) is None
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN

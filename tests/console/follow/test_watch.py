"""Noticing changes, with the real watcher on a real directory."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path

import pytest

from console.follow import watch as watching
from console.follow.inotify import Notices
from console.follow.watch import Wake, wakes
from tests.tiny import ROOT
from trainer.rundir.atomic import write_atomic

NEVER = 1000.0
"""A tick that no test lives to see: what wakes is a change."""


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncGenerator[asyncio.Queue[Wake], None]:
    """Wakes of `tmp_path`, once the watch is known to be in place."""
    queue: asyncio.Queue[Wake] = asyncio.Queue()

    async def collect() -> None:
        async for wake in wakes(tmp_path, tick_seconds=NEVER):
            queue.put_nowait(wake)

    task = asyncio.create_task(collect())
    number = 0
    while queue.empty():
        (tmp_path / f"probe-{(number := number + 1)}").touch()
        await asyncio.sleep(0.02)
    yield queue
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_directory_whose_name_is_no_utf_8_is_watched(tmp_path: Path) -> None:
    directory = tmp_path / os.fsdecode(b"run-\xff")
    directory.mkdir()
    changes = wakes(directory, tick_seconds=NEVER)
    waiting = asyncio.ensure_future(anext(changes))
    while not waiting.done():
        (directory / os.fsdecode(b"name-\xff")).touch()
        await asyncio.sleep(0.01)
    assert waiting.result() == Wake()
    await changes.aclose()


async def test_every_replacement_of_a_file_is_noticed(
    watched: asyncio.Queue[Wake], tmp_path: Path
) -> None:
    for number in range(5):
        write_atomic(tmp_path / ".state.json", b"%d" % number)
        assert await watched.get() == Wake()


async def test_an_append_is_noticed(watched: asyncio.Queue[Wake], tmp_path: Path) -> None:
    with (tmp_path / ".loss.json").open("ab") as file:
        for _ in range(5):
            file.write(b"x")
            file.flush()
            assert await watched.get() == Wake()


async def test_what_changes_is_told_once_by_name_and_folders_are_not_watched(
    tmp_path: Path,
) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    with closing(Notices(tmp_path)) as notices:
        assert not await notices.wait(0.0)
        for _ in range(50):
            file.write_bytes(b"x")
        (folder / "inside").touch()
        file.rename(tmp_path / os.fsdecode(b"name-\xff"))
        assert await notices.wait(NEVER)
        assert notices.take() == {"file", os.fsdecode(b"name-\xff")}
        assert notices.take() == set()
        tmp_path.rename(tmp_path.with_name("moved"))
        assert notices.take() == {""}
        tmp_path.with_name("moved").rename(tmp_path)


async def test_a_tick_comes_without_any_change(tmp_path: Path) -> None:
    changes = wakes(tmp_path, tick_seconds=0.05)
    assert await anext(changes) == Wake(is_tick=True)
    await changes.aclose()


async def test_a_directory_that_comes_later_goes_and_comes_back_is_watched(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    changes = wakes(run, tick_seconds=0.05)
    assert await anext(changes) == Wake(is_tick=True)
    for _ in range(2):
        run.mkdir()
        (run / "probe").touch()
        while (await anext(changes)).is_tick:
            (run / "probe").touch()
        (run / "probe").unlink()
        run.rmdir()
        while not (await anext(changes)).is_tick:
            pass
    await changes.aclose()


async def test_where_nothing_can_be_watched_the_tick_goes_on_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(_: Path) -> Notices:
        raise OSError(28, "no watch left")

    monkeypatch.setattr(watching, "Notices", exhausted)
    changes = wakes(tmp_path, tick_seconds=0.01)
    noted = Wake(is_tick=True, note="changes are seen every 0.01 s only: no watch left")
    assert [await anext(changes) for _ in range(2)] == [noted] * 2
    await changes.aclose()


WITHOUT_INOTIFY = """
echo 0 > /proc/sys/user/max_inotify_{what} || exit 77
exec "$0" -c '
import asyncio, sys
from pathlib import Path
from console.follow.watch import wakes
async def look():
    changes = wakes(Path(sys.argv[1]), tick_seconds=0.01)
    for _ in range(2):
        print((await anext(changes)).note)
    await changes.aclose()
asyncio.run(look())
' "$1"
"""


@pytest.mark.parametrize("what", ["instances", "watches"])
def test_without_any_inotify_left_the_real_watcher_is_done_without(
    tmp_path: Path, what: str
) -> None:
    script = WITHOUT_INOTIFY.format(what=what)
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", script, sys.executable]
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if "unshare failed" in done.stderr or done.returncode == 77:
        pytest.skip(f"no user namespace with inotify limits of its own here: {done.stderr}")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert first == second
    assert first.startswith("changes are seen every 0.01 s only: ")


async def test_half_written_files_dont_starve_the_tick(tmp_path: Path) -> None:
    changes = wakes(tmp_path, tick_seconds=0.2)
    waiting = asyncio.ensure_future(anext(changes))
    while not waiting.done():
        (tmp_path / ".step_000100.bin.partial").write_bytes(b"x")
        await asyncio.sleep(0.001)
    assert waiting.result() == Wake(is_tick=True)
    await changes.aclose()

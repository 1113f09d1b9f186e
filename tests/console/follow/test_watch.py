"""Noticing changes, with the real watcher on a real directory."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from watchfiles._rust_notify import WatchfilesRustInternalError

from console.follow import watch as watching
from console.follow.watch import Wake, wakes
from tests.tiny import ROOT
from trainer.rundir.atomic import write_atomic

Raw = AsyncGenerator[set[tuple[int, str]], None]
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


async def test_a_directory_whose_name_is_no_utf_8_is_looked_at_by_the_tick(tmp_path: Path) -> None:
    directory = tmp_path / os.fsdecode(b"run-\xff")
    directory.mkdir()
    changes = wakes(directory, tick_seconds=0.01)
    wake = await anext(changes)
    assert wake.is_tick
    assert "no UTF-8" in wake.note
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


async def test_folders_of_the_run_are_not_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    async def note(*_: object, **options: object) -> Raw:
        asked.append(options["recursive"])
        yield set()

    monkeypatch.setattr(watching, "awatch", note)
    changes = wakes(tmp_path, tick_seconds=0.01)
    await anext(changes)
    await changes.aclose()
    assert asked == [False]


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


@pytest.mark.parametrize("n_before", [0, 1], ids=["at the start", "later"])
@pytest.mark.parametrize(
    "error",
    [
        OSError("no watch left"),
        WatchfilesRustInternalError("no watch left"),
        RuntimeError("no watch left"),
        ExceptionGroup("unhandled errors in a TaskGroup", [RuntimeError("no watch left")]),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_where_nothing_can_be_watched_the_tick_goes_on_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, n_before: int
) -> None:
    async def exhausted(*_: object, **__: object) -> Raw:
        for _n in range(n_before):
            yield {(2, str(tmp_path / ".loss.json"))}
        raise error

    monkeypatch.setattr(watching, "awatch", exhausted)
    changes = wakes(tmp_path, tick_seconds=0.01)
    seen = [await anext(changes) for _ in range(2 * (n_before + 1))]
    noted = Wake(is_tick=True, note="changes are seen every 0.01 s only: no watch left")
    assert seen == [*[Wake()] * n_before, noted] * 2
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


async def test_half_written_files_dont_starve_the_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def always_saving(*_: object, **__: object) -> AsyncGenerator[set[tuple[int, str]], None]:
        while True:
            yield {(2, str(tmp_path / ".step_000100.bin.partial"))}
            await asyncio.sleep(0.001)

    monkeypatch.setattr(watching, "awatch", always_saving)
    changes = wakes(tmp_path, tick_seconds=0.02)
    assert await anext(changes) == Wake(is_tick=True)
    await changes.aclose()

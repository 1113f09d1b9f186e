"""What is known of the machine, and of what the trainer takes of it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console.view.machine import MachineBook

_HELD_BYTES = 30_000_000
_SCRIPT = """
import os, sys
held = b"x" * int(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    with open(sys.argv[2], "wb") as file:
        file.write(held)
        os.fsync(file.fileno())
    print("written", flush=True)
"""


class Hungry:
    """A process that holds so many bytes, and writes them to a disk when told."""

    def __init__(self, file: Path) -> None:
        command = [sys.executable, "-c", _SCRIPT, str(_HELD_BYTES), str(file)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self._hear()

    def _hear(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline()

    def write(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self._hear()


@pytest.fixture
def hungry(tmp_path: Path) -> Iterator[Hungry]:
    one = Hungry(tmp_path / "file")
    with one.process:
        yield one
        one.process.kill()


@pytest.fixture
def proc(tmp_path: Path) -> Callable[..., Path]:
    """A /proc with these files alone, which no kernel of a test can be made to show."""

    def make(**files: str) -> Path:
        folder = tmp_path / "proc"
        (folder / "7").mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("_", "/")).write_text(text)
        return folder

    return make


def test_memory_of_machine_and_trainer_are_the_kernels(hungry: Hungry) -> None:
    machine = MachineBook().sample(0.0, hungry.process.pid)
    assert machine.trainer is not None
    assert machine.trainer.rss_bytes is not None
    assert machine.trainer.peak_bytes is not None
    assert _HELD_BYTES < machine.trainer.rss_bytes <= machine.trainer.peak_bytes
    assert machine.ram_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert machine.ram_used_bytes is not None
    assert 0 < machine.ram_used_bytes < machine.ram_bytes


def test_rates_are_from_one_sample_to_the_next(hungry: Hungry) -> None:
    book = MachineBook()
    first = book.sample(100.0, hungry.process.pid)
    hungry.write()
    second = book.sample(102.0, hungry.process.pid)
    assert first.trainer is not None
    assert second.trainer is not None
    assert (first.cpu_share, first.trainer.write_rate) == (None, None)
    assert second.cpu_share is None or 0 <= second.cpu_share <= 1
    assert second.trainer.write_rate is not None
    # Not every file system counts what it writes: then it is nothing, and no other number.
    assert second.trainer.write_rate == 0 or second.trainer.write_rate >= _HELD_BYTES / 2


def test_processors_share_leaves_out_idleness_and_waiting_for_disks(
    proc: Callable[..., Path],
) -> None:
    book = MachineBook(proc(stat="cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3 4\n"))
    book.sample(0.0, None)
    proc(stat="cpu  130 0 120 820 130 0 0 0 900 0\n")
    assert book.sample(2.0, None).cpu_share == pytest.approx(50 / 200)


def test_a_count_of_idle_time_that_goes_back_is_no_share_beyond_all(
    proc: Callable[..., Path],
) -> None:
    book = MachineBook(proc(stat="cpu  100 0 100 700 100 0 0 0 0 0\n"))
    book.sample(0.0, None)
    proc(stat="cpu  300 0 100 690 100 0 0 0 0 0\n")
    assert book.sample(2.0, None).cpu_share == 1.0


def test_rates_of_a_trainer_do_not_begin_with_the_counters_of_the_one_before(
    hungry: Hungry,
) -> None:
    book = MachineBook()
    book.sample(0.0, os.getpid())
    other = book.sample(2.0, hungry.process.pid)
    assert other.trainer is not None
    assert other.trainer.write_rate is None


def test_without_the_right_to_read_what_is_written_the_memory_is_known_all_the_same(
    proc: Callable[..., Path],
) -> None:
    folder = proc(**{"7_status": "Name:\tpython\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n"})
    book = MachineBook(folder)
    book.sample(0.0, 7)
    trainer = book.sample(2.0, 7).trainer
    assert trainer is not None
    assert (trainer.rss_bytes, trainer.peak_bytes) == (1024**2, 2 * 1024**2)
    assert trainer.write_rate is None


@pytest.mark.parametrize("text", ["", "cpu\n", "cpu x y z\n", "cpu  1 2 3\n", "intr 5\n", "\x00"])
def test_what_a_container_hides_or_garbles_is_unknown(proc: Callable[..., Path], text: str) -> None:
    book = MachineBook(proc(stat=text, meminfo=text))
    for now in (0.0, 2.0):
        machine = book.sample(now, 7)
    assert (machine.cpu_share, machine.ram_bytes, machine.ram_used_bytes) == (None, None, None)
    assert machine.trainer is not None
    assert (machine.trainer.rss_bytes, machine.trainer.write_rate) == (None, None)


def test_a_trainer_that_has_just_gone_is_unknown() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    trainer = MachineBook().sample(0.0, process.pid).trainer
    assert trainer is not None
    assert trainer.rss_bytes is None

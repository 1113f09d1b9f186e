"""The machine as it is looked at: seldom, never waited for, and only where the trainer is."""

import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from console.follow import machine_watch
from console.follow.gpu_watch import GpuWatch
from console.follow.machine_watch import MachineWatch, Tenant
from console.process.presence import Liveness, Presence
from console.view.disk_forecast import Room
from console.view.gpu import NO_ANSWER, Gpu, GpuReader, Gpus
from console.view.machine import Machine, MachineBook
from trainer.rundir.lock import Holder, boot_id

ROOM = Room(free_bytes=612_000_000_000, free_inodes=31_000_000)


class SlowDriver(GpuReader):
    """Answers when the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = threading.Semaphore(0)
        self.asked: list[tuple[float, int | None]] = []

    def sample(self, now: float, trainer: int | None) -> Gpus:
        self.asked.append((now, trainer))
        self.may_answer.acquire()
        return Gpus(rows=(Gpu(index=len(self.asked)),))


@pytest.fixture
def driver() -> Iterator[SlowDriver]:
    slow = SlowDriver()
    yield slow
    slow.may_answer.release(100)


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GpuReader, "sample", lambda *_: Gpus(word="no NVIDIA driver"))


def tenant(host: str = "", *, pid: int = os.getpid(), boot: str | None = None) -> Tenant:
    holder = Holder(
        pid=pid,
        start_time=1,
        host=host or socket.gethostname(),
        boot_id=boot_id() if boot is None else boot,
    )
    liveness = Liveness.ALIVE if holder.is_here else Liveness.ELSEWHERE
    return Tenant(presence=Presence(liveness=liveness, holder=holder), room=ROOM)


def test_a_driver_that_hangs_keeps_nobody_waiting_and_is_said_after_a_while(
    driver: SlowDriver,
) -> None:
    watch = GpuWatch(driver)
    for now in (0.0, 2.0, 20.0):
        assert watch.look(now, 7) == Gpus()
    assert watch.look(21.0, 7) == Gpus(word=NO_ANSWER)
    assert driver.asked in ([], [(0.0, 7)])


def test_a_driver_that_answers_after_all_is_believed_again(driver: SlowDriver) -> None:
    watch = GpuWatch(driver)
    watch.look(0.0, 7)
    assert watch.look(60.0, 7).word
    driver.may_answer.release()
    assert watch.wait(20.0)
    assert [row.index for row in watch.look(60.1, 7).rows] == [1]


def test_the_driver_is_asked_every_two_seconds_at_most(driver: SlowDriver) -> None:
    watch = GpuWatch(driver)
    driver.may_answer.release(100)
    for tenth in range(100):
        watch.look(tenth / 10, 7)
        assert watch.wait(20.0)
    assert [now for now, _ in driver.asked] == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_the_thread_that_asks_is_no_reason_for_the_console_not_to_end(driver: SlowDriver) -> None:
    before = set(threading.enumerate())
    GpuWatch(driver).look(0.0, 7)
    assert [each.daemon for each in set(threading.enumerate()) - before] == [True]


@pytest.mark.usefixtures("no_driver")
def test_however_often_it_is_looked_at_it_is_sampled_every_two_seconds_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sampled: list[float] = []

    def note(book: MachineBook, now: float, trainer: int | None) -> Machine:
        sampled.append(now)
        return Machine()

    monkeypatch.setattr(MachineBook, "sample", note)
    watch = MachineWatch()
    for tenth in range(100):
        watch.look(1000 + tenth / 10, tenant())
    assert sampled == [1000.0, 1002.0, 1004.0, 1006.0, 1008.0]


@pytest.mark.usefixtures("no_driver")
def test_a_trainer_here_is_shown_with_the_machine_under_it() -> None:
    watch = MachineWatch()
    machine = watch.look(0.0, tenant())
    assert machine.trainer is not None
    assert machine.trainer.rss_bytes
    assert machine.room == ROOM


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("look", ["shown", "measured"])
def test_of_a_trainer_on_another_machine_only_the_disk_is_known(look: str) -> None:
    for far in (tenant("gpu7"), tenant("gpu7", boot="another")):
        machine = MachineWatch().look(0.0, far) if look == "shown" else machine_watch.measure(far)
        assert machine == Machine(trainer_host="gpu7", room=ROOM)


@pytest.mark.usefixtures("no_driver")
def test_without_a_trainer_the_machine_is_shown_alone() -> None:
    machine = MachineWatch().look(0.0, Tenant(room=ROOM))
    assert machine.trainer is None
    assert machine.ram_bytes


@pytest.mark.usefixtures("no_driver")
def test_a_pid_of_another_container_is_not_taken_for_one_of_ours() -> None:
    here = tenant()
    assert here.presence.holder is not None
    other = replace(here.presence.holder, pid_namespace=1)
    inside = replace(
        here, presence=Presence(liveness=Liveness.ELSEWHERE, holder=other), told_peak_bytes=5
    )
    machine = MachineWatch().look(0.0, inside)
    assert machine.trainer is None
    assert machine.ram_bytes


@pytest.mark.usefixtures("no_driver")
def test_a_peak_that_the_kernel_does_not_tell_is_the_trainers_own_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_watch, "MachineBook", lambda: MachineBook(tmp_path))
    machine = MachineWatch().look(0.0, replace(tenant(), told_peak_bytes=5))
    assert machine.trainer is not None
    assert (machine.trainer.rss_bytes, machine.trainer.peak_bytes) == (None, 5)


@pytest.mark.usefixtures("no_driver")
def test_one_sample_has_its_rates() -> None:
    machine = machine_watch.measure(tenant())
    assert machine.cpu_share is not None
    assert machine.gpus.word == "no NVIDIA driver"

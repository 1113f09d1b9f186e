"""The machine in a line, at any width."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from textual.geometry import Region

from console.ui.widgets.machine import MachineStrip
from console.ui.widgets.machine_lines import machine_lines
from console.view.disk_forecast import Room
from console.view.gpu import Gpu, Gpus
from console.view.machine import Machine
from tests.console.fixed_run import fixed_machine
from tests.console.headless import Stage

FIXED = fixed_machine()
GPU = FIXED.gpus.rows[0]


def texts(machine: Machine, width: int = 160, height: int = 45) -> list[str]:
    return [line.plain for line in machine_lines(machine, width, height)]


def with_gpus(*gpus: Gpu, word: str = "") -> Machine:
    return replace(FIXED, gpus=Gpus(rows=gpus, word=word))


def eight(**of_third: Any) -> Machine:
    rows = [replace(GPU, index=index, is_trainers=False) for index in range(8)]
    rows[3] = replace(rows[3], **of_third)
    return with_gpus(*rows)


@pytest.mark.parametrize(
    "machine",
    [FIXED, eight(is_trainers=True), with_gpus(word="no driver"), Machine(trainer_host="n" * 90)],
    ids=["one GPU", "eight GPUs", "no GPU", "far"],
)
def test_no_line_is_wider_than_the_terminal(machine: Machine) -> None:
    for width in range(1, 220):
        for line in machine_lines(machine, width, 24):
            assert line.cell_length <= width


def test_one_gpu_and_the_machine_are_one_line() -> None:
    (line,) = texts(FIXED)
    for text in ("GPU 98 %", "62.1/85.5 GB", "71 °C", "412/700 W", "CPU 12 %", "RAM 31.0/135 GB"):
        assert text in line
    for text in ("RSS 3.21 GB", "peak 4.12 GB", "writes 14.4 MB/s", "free 612 GB", "inodes 31.2M"):
        assert text in line


def test_on_eighty_columns_the_gpu_and_what_is_short_first_stay() -> None:
    (line,) = texts(FIXED, 78, 24)
    for text in ("GPU 98 %", "62.1/85.5 GB", "71 °C", "CPU 12 %", "RAM 31.0/135 GB", "RSS 3.21 GB"):
        assert text in line


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"xid": 79}, "✖ Xid 79"),
        ({"word": "GPU is lost"}, "✖ GPU is lost"),
        ({"slowed_by": ("heat",)}, "▲ slowed: heat"),
        ({"slowed_by": ("power cap",)}, "slowed: power cap"),
        ({"ecc_uncorrected": 2}, "✖ ECC 2 uncorrected"),
    ],
)
def test_what_is_wrong_with_a_gpu_is_said_on_eighty_columns_too(
    fault: dict[str, Any], words: str
) -> None:
    (line,) = texts(with_gpus(replace(GPU, **fault)), 78, 24)
    assert words in line


def test_a_gpu_that_tells_nothing_is_shown_without_a_guess() -> None:
    (line,) = texts(with_gpus(Gpu(index=0)))
    assert line.startswith("GPU –")
    assert "°C" not in line
    assert " W" not in line


def test_without_a_gpu_there_is_one_quiet_word() -> None:
    (line,) = texts(with_gpus(word="no NVIDIA driver"), 78, 24)
    assert "no NVIDIA driver" in line
    assert "CPU 12 %" in line
    assert "GPU" not in line


def test_of_a_trainer_elsewhere_only_its_place_and_the_disk_are_said() -> None:
    far = Machine(trainer_host="gpu7", room=Room(free_bytes=612_000_000_000))
    assert texts(far, 78, 24) == ["the trainer runs on gpu7: not seen from here   free 612 GB"]


def test_names_of_others_do_not_steer_the_terminal() -> None:
    hostile = "\x1b[2J[red]x"
    for machine in (
        with_gpus(replace(GPU, name=hostile)),
        with_gpus(replace(GPU, word=hostile)),
        with_gpus(word=hostile),
        Machine(trainer_host=hostile),
    ):
        (line,) = texts(machine, 300)
        assert "\x1b" not in line
        assert "[red]x" in line


def test_each_of_several_gpus_has_a_line_and_the_trainers_is_marked() -> None:
    first, *rows = texts(with_gpus(replace(GPU, index=0, is_trainers=False), replace(GPU, index=1)))
    assert first.endswith("inodes 31.2M")
    assert [row[:6] for row in rows] == [" GPU 0", "▸GPU 1"]


@pytest.mark.parametrize("of_third", [{"is_trainers": True}, {"xid": 79}, {"word": "lost"}])
def test_where_there_is_no_room_for_all_the_trainers_and_the_ill_are_shown(
    of_third: dict[str, Any],
) -> None:
    _, *rows = texts(eight(**of_third), 78, 24)
    assert len(rows) == 2
    assert any("GPU 3" in row for row in rows)
    assert rows[-1].endswith("and 6 GPUs more")


@contextmanager
def drawn() -> Iterator[list[Region]]:
    """The rows that the strip asks to be drawn again."""
    regions: list[Region] = []
    patch = pytest.MonkeyPatch()

    def note(strip: MachineStrip, *these: Region, **_: Any) -> None:
        regions.extend(these or [Region()])

    patch.setattr(MachineStrip, "refresh", note)
    yield regions
    patch.undo()


async def test_a_machine_that_did_not_change_is_not_drawn_again() -> None:
    stage = Stage()
    async with stage.opened():
        assert "GPU 98 %" in stage.text()
        with drawn() as regions:
            for _ in range(3):
                await stage.wake()
            assert regions == []
            stage.follower.machine = replace(FIXED, cpu_share=0.5)
            await stage.wake()
            assert [region.height for region in regions] == [1]


async def test_the_strip_is_hidden_where_there_is_hardly_room_for_the_header() -> None:
    stage = Stage()
    async with stage.opened(80, 8):
        assert "GPU" not in stage.text()
        await stage.resize(80, 24)
        await stage.until(lambda: "GPU 98 %" in stage.text(), "the strip")


async def test_lines_come_and_go_with_the_gpus() -> None:
    stage = Stage()
    async with stage.opened(120, 40):
        stage.follower.machine = eight(is_trainers=True)
        await stage.wake()
        assert "▸GPU 3" in stage.text()
        stage.follower.machine = FIXED
        await stage.wake()
        assert "GPU 3" not in stage.text()

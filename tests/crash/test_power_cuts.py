"""A few power cuts under a real ext4; `python -m tests.crash.power_cuts` makes hundreds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash import power_cuts
from tests.crash.cut_disk import SECTOR_BYTES, cut_off, sectors_of, surviving
from tests.crash.recorded_disk import BlockWrite, Event, Flush, Mark
from tests.tiny import ROOT

N_SECTORS = 8
DRAWS = [f"draw {number}" for number in range(200)]


def write_of(letter: bytes, *, at_sector: int = 0) -> BlockWrite:
    return BlockWrite(at_sector * SECTOR_BYTES, letter * (N_SECTORS * SECTOR_BYTES))


def cut_power(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command; skips the test where the machine lacks what it takes."""
    command = [sys.executable, "-m", "tests.crash.power_cuts", "--filesystem", "ext4", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode == 77:
        pytest.skip(ended.stderr.strip())
    return ended


def test_power_cuts_under_ext4_lose_nothing_that_was_promised() -> None:
    ended = cut_power("--cuts", "5")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "5 cuts" in ended.stderr
    assert " 0 lost what was promised" in ended.stderr


def test_trainer_that_syncs_nothing_is_found_to_lose_what_it_promised() -> None:
    ended = cut_power("--cuts", "20", "--no-fsync")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert " 0 lost what was promised" not in ended.stderr
    assert "lost what was promised" in ended.stderr


def test_machine_without_what_it_takes_is_told_and_exits_77(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["power_cuts"])
    assert power_cuts.main() == 77
    assert "root" in capsys.readouterr().err


def test_what_was_flushed_before_the_cut_is_on_the_disk(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.touch()
    trace: list[Event] = [write_of(b"a"), Flush(), Mark("run", 3), write_of(b"b", at_sector=8)]
    trace += [Flush(), Mark("run", 6)]
    first, second = (
        (cut.promised, cut.unflushed, image.read_bytes()) for cut in cut_off(image, trace, [2, 1])
    )
    assert first == ({}, (write_of(b"a"),), b"")
    promised = {"run": (3,)}
    assert second == (promised, (write_of(b"b", at_sector=8),), write_of(b"a").data)


def test_what_was_not_flushed_is_there_in_order_or_in_any_order_or_not() -> None:
    writes = [write_of(b"a"), write_of(b"b", at_sector=8)]
    drawn = {b"".join(unit.data[:1] for unit in surviving(writes, draw)) for draw in DRAWS}
    assert {b"", b"a" * 8, b"b" * 8, b"a" * 8 + b"b" * 8} <= drawn
    assert any(kept.startswith(b"a" * 8) and 8 < len(kept) < 16 for kept in drawn)


def test_writes_are_torn_at_sectors_and_with_a_larger_unit_never_within_it() -> None:
    write = BlockWrite(3 * SECTOR_BYTES, bytes(7 * SECTOR_BYTES))
    assert [len(unit.data) // SECTOR_BYTES for unit in sectors_of([write])] == [1] * 7
    units = sectors_of([write], 4 * SECTOR_BYTES)
    assert [len(unit.data) // SECTOR_BYTES for unit in units] == [1, 4, 2]
    assert all(unit in units for draw in DRAWS for unit in surviving([write], draw, 2048))

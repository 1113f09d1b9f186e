"""What the kernel counts of processes killed for want of memory."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tiny import ROOT
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import boot_id
from trainer.rundir.memory import is_of_own_group, kills_since, memory_of_self
from trainer.rundir.state import read_state

MEGABYTE = 1 << 20


def test_a_process_knows_its_peak_and_the_machines_memory() -> None:
    memory = memory_of_self()
    assert 10 * MEGABYTE < memory.peak_bytes < memory.total_bytes
    assert memory.boot_id == boot_id()
    assert kills_since(memory) == {}


def counted(folder: Path, kills: int, *, is_v2: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if is_v2:
        (folder / "memory.events").write_text(f"low 0\noom 3\noom_kill {kills}\noom_group_kill 0\n")
    else:
        (folder / "memory.oom_control").write_text(f"under_oom 0\noom_kill {kills}\n")


@pytest.mark.parametrize("is_v2", [True, False], ids=["v2", "v1"])
def test_a_kill_is_counted_by_the_groups_that_are_left(tmp_path: Path, is_v2: bool) -> None:
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    line = "0::/user/run.service" if is_v2 else "4:memory:/user/run.service"
    (proc / "self" / "cgroup").write_text(f"2:cpu:/other\n{line}\n")
    root = cgroups if is_v2 else cgroups / "memory"
    counted(root / "user", 1, is_v2=is_v2)
    counted(root / "user" / "run.service", 0, is_v2=is_v2)
    memory = memory_of_self(proc, cgroups)
    assert list(memory.oom_kills.values())[:2] == [0, 1]
    assert kills_since(memory) == {}
    counted(root / "user", 2, is_v2=is_v2)
    for file in (root / "user" / "run.service").iterdir():
        file.unlink()
    assert list(kills_since(memory).values()) == [1]
    assert is_of_own_group(kills_since(memory))
    assert kills_since(replace(memory, boot_id="another boot")) == {}


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of 64 MB without swap, of which the kernel kills what asks for more."""
    v1 = Path("/sys/fs/cgroup/memory")
    root, limit = (v1, "memory.limit_in_bytes") if v1.is_dir() else (v1.parent, "memory.max")
    folder = root / f"andrea-test-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / limit).write_text(str(64 * MEGABYTE))
    except OSError as error:
        pytest.skip(f"a control group with a limit of memory can't be made here: {error}")
    yield folder
    folder.rmdir()


HUNGRY = """
import os, sys
from pathlib import Path
(Path(sys.argv[2]) / "cgroup.procs").write_text(str(os.getpid()))
from trainer.rundir.layout import RunDirectory
from trainer.rundir.memory import memory_of_self
from trainer.rundir.state import State, write_state
run = RunDirectory(Path(sys.argv[1]))
write_state(run.state, State(doing="training", pid=os.getpid(), memory=memory_of_self()))
hoard = []
while True:
    hoard.append(b"x" * (1 << 20))
"""


def test_the_kernels_own_kill_is_told_from_any_other(tmp_path: Path, group: Path) -> None:
    run = RunDirectory(tmp_path)
    command = [sys.executable, "-c", HUNGRY, str(tmp_path), str(group)]
    killed = subprocess.run(command, cwd=ROOT, check=False)
    assert killed.returncode == -9
    state = read_state(run.state)
    assert state is not None
    assert state.memory is not None
    assert is_of_own_group(kills_since(state.memory))

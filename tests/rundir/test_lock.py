import fcntl
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.rundir.faulty_os import each_fault
from trainer.rundir.lock import (
    Holder,
    TrainerLock,
    boot_id,
    holder_of,
    pid_namespace,
    process_start_time,
)
from trainer.rundir.outcomes import LockedError

ROOT = Path(__file__).parents[2]

_HOLDER = """
import sys
from pathlib import Path
from trainer.rundir.lock import TrainerLock
lock = TrainerLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""

_ASKER = """
import sys, threading
from pathlib import Path
from trainer.rundir.lock import holder_of
threading.Thread(target=sys.stdin.read, daemon=False).start()
seen = set()
print("asking", flush=True)
while threading.active_count() > 1:
    holder = holder_of(Path(sys.argv[1]))
    seen.add(holder and holder.pid)
print(seen == {None, 0, int(sys.argv[2])} or seen == {None, int(sys.argv[2])}, flush=True)
"""


@contextmanager
def _child(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A Python process that has said its first word; it ends with its stdin."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout
        assert child.stdout.readline()
        yield child
        child.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trainer.lock"


def _identity(**changes: Any) -> dict[str, Any]:
    me = os.getpid()
    known = {
        "pid": me,
        "start_time": process_start_time(me),
        "host": socket.gethostname(),
        "boot_id": boot_id(),
        "pid_namespace": pid_namespace(),
    }
    return {**known, **changes}


def test_the_holder_is_this_very_process(path: Path) -> None:
    assert holder_of(path) is None
    lock = TrainerLock(path)
    holder = holder_of(path)
    assert holder == Holder(**_identity())
    assert holder.is_alive
    lock.release()
    assert holder_of(path) is None


def test_two_identities_written_at_once_are_read_as_the_first(path: Path) -> None:
    lock = TrainerLock(path)
    path.write_bytes(path.read_bytes() * 2)
    assert holder_of(path) == Holder(**_identity())
    lock.release()


def test_a_second_trainer_in_the_same_process_is_refused(path: Path) -> None:
    lock = TrainerLock(path)
    for _ in range(3):
        with pytest.raises(LockedError, match=rf"holds this run \(pid {os.getpid()} on "):
            TrainerLock(path)
    lock.release()
    TrainerLock(path).release()


def test_another_process_is_refused_until_the_holder_is_killed(path: Path) -> None:
    with _child(_HOLDER, path) as child:
        with pytest.raises(LockedError, match=f"pid {child.pid} on"):
            TrainerLock(path)
        holder = holder_of(path)
        assert holder
        assert (holder.pid, holder.is_alive) == (child.pid, True)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not holder.is_alive  # a zombie: dead, not yet waited for
        assert Path(f"/proc/{child.pid}").exists()
        assert holder_of(path) is None
        TrainerLock(path).release()


def test_of_many_that_start_at_once_one_wins(path: Path) -> None:
    code = """
import sys
from pathlib import Path
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import LockedError
print("ready", flush=True)
sys.stdin.readline()
try:
    lock = TrainerLock(Path(sys.argv[1]))
    print("won", flush=True)
except LockedError:
    print("refused", flush=True)
sys.stdin.readline()
"""
    with _child(code, path) as a, _child(code, path) as b, _child(code, path) as c:
        children = [a, b, c]
        for child in children:
            assert child.stdin
            child.stdin.write("go\n")
            child.stdin.flush()
        words = [child.stdout.readline().strip() for child in children if child.stdout]
    assert sorted(words) == ["refused", "refused", "won"]


def test_asking_without_a_pause_never_disturbs_a_starter(path: Path) -> None:
    with _child(_ASKER, path, os.getpid()) as asker:
        for _ in range(2_000):
            TrainerLock(path).release()
        assert asker.stdin
        assert asker.stdout
        asker.stdin.close()
        assert asker.stdout.readline() == "True\n"


@pytest.mark.parametrize(
    ("changes", "is_here"),
    [
        ({"start_time": 1}, True),
        ({"boot_id": "another boot"}, False),
        ({"host": "another-host"}, False),
        ({"pid_namespace": 1}, False),
        ({"pid": 2**22 + 1}, True),
    ],
    ids=["recycled pid", "before the boot", "elsewhere", "in a container", "gone"],
)
def test_another_process_with_the_pid_is_not_alive(changes: dict[str, Any], is_here: bool) -> None:
    holder = Holder(**_identity(**changes))
    assert (holder.is_here, holder.is_alive) == (is_here, False)


def test_a_lock_that_an_earlier_version_wrote_is_of_this_namespace(path: Path) -> None:
    lock = TrainerLock(path)
    path.write_bytes(orjson.dumps({k: v for k, v in _identity().items() if k != "pid_namespace"}))
    holder = holder_of(path)
    assert holder
    assert holder.is_alive
    lock.release()


def test_a_name_with_brackets_and_spaces_does_not_hide_the_start_time(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 (b"
    program.symlink_to("/bin/cat")
    with subprocess.Popen([program], stdin=subprocess.PIPE) as child:
        started = process_start_time(child.pid)
        assert started
        assert started >= (process_start_time(os.getpid()) or 0)
        assert child.stdin
        child.stdin.close()
        assert child.wait() == 0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        b'{"pid"',
        b"{}",
        b"[1]",
        b"null",
        b"\xff\0",
        b'{"pid":"x","start_time":1,"host":"h","boot_id":"b"}',
    ],
)
def test_a_lock_without_a_name_is_held_by_an_unknown(path: Path, data: bytes) -> None:
    lock = TrainerLock(path)
    path.write_bytes(data)
    holder = holder_of(path)
    assert holder
    assert (holder.pid, holder.is_alive) == (0, False)
    with pytest.raises(LockedError, match=r"another trainer holds this run$"):
        TrainerLock(path)
    lock.release()
    assert holder_of(path) is None


def _put_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _put_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/null")


def _put_file(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"anything")


@pytest.mark.parametrize("lose", [Path.unlink, _put_folder, _put_link, _put_file])
def test_a_lock_that_lost_its_name_still_refuses_and_is_put_back(
    path: Path, lose: Callable[[Path], None]
) -> None:
    lock = TrainerLock(path)
    assert lock.keep() == ""
    lose(path)
    with pytest.raises((LockedError, OSError), match=r"another trainer|not a file"):
        TrainerLock(path)
    assert lock.keep().startswith(("was removed", "was replaced", "is a"))
    assert lock.keep() == ""
    assert holder_of(path) == Holder(**_identity())
    with pytest.raises(LockedError, match=f"pid {os.getpid()} on"):
        TrainerLock(path)
    lock.release()
    assert holder_of(path) is None


def test_whoever_asks_for_a_lost_lock_and_is_refused_does_not_end_the_holder(path: Path) -> None:
    lock = TrainerLock(path)
    path.unlink()
    with path.open("wb") as asking:
        fcntl.flock(asking, fcntl.LOCK_EX)  # of another kind: in nobody's way
        fcntl.fcntl(asking, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        assert "another process" in lock.keep()
    assert "was replaced" in lock.keep()
    assert lock.keep() == ""
    lock.release()


def test_what_a_dead_holder_wrote_names_nobody_and_is_replaced(path: Path) -> None:
    path.write_bytes(orjson.dumps(_identity(pid=1)) + b"\n" + b"x" * 5_000)
    assert holder_of(path) is None
    lock = TrainerLock(path)
    assert orjson.loads(path.read_bytes())["pid"] == os.getpid()
    lock.release()


def test_a_fault_while_taking_the_lock_leaves_it_free(tmp_path: Path) -> None:
    for call, folder in each_fault(lambda f: TrainerLock(f / "lock").release(), tmp_path):
        assert holder_of(folder / "lock") is None, call


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    written=st.dictionaries(
        st.sampled_from(["pid", "start_time", "host", "boot_id", "pid_namespace"]),
        st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=3),
    )
)
def test_whatever_is_written_the_holder_can_be_asked_about(
    path: Path, written: dict[str, object]
) -> None:
    lock = TrainerLock(path)
    try:
        path.write_bytes(orjson.dumps(written))
        holder = holder_of(path)
        assert holder
        assert not holder.is_alive
    finally:
        lock.release()

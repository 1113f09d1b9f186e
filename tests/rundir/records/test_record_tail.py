import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trainer.rundir.records.record_file import RecordArray, RecordTail

ROOT = Path(__file__).parents[2]


class Follower:
    """What a reader holds that obeys the news."""

    def __init__(self, path: Path) -> None:
        self.tail = RecordTail(path)
        self.records: list[dict[str, Any]] = []
        self.n_restarts = self.n_damaged = self.n_looks = 0

    def look(self, max_bytes: int = 4 << 20) -> list[int]:
        """All steps held after looking until there is no more."""
        has_more = True
        while has_more:
            news = self.tail.look(max_bytes)
            if news.is_restarted:
                self.records.clear()
                self.n_restarts += 1
            self.records += news.records
            self.n_damaged += news.damaged_lines
            self.n_looks += 1
            has_more = news.has_more
        return [record["step"] for record in self.records]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".loss.json"


def _write(path: Path, *steps: int, note: str = "") -> None:
    """A new file of these steps in place of what is there, by a rename."""
    beside = path.with_name("beside")
    array = RecordArray(beside)
    for step in steps:
        array.append({"step": step, "note": note})
    array.close()
    beside.rename(path)


_WRITER = """
import sys
from pathlib import Path
from trainer.rundir.records.record_file import RecordArray
array = RecordArray(Path(sys.argv[1]))
for step in range(1, int(sys.argv[2]) + 1):
    array.append({"step": step, "pad": "}\\n{" * (step % 97), "inner": {"step": [-step]}})
"""


@pytest.mark.parametrize("max_bytes", [64, 4 << 20])
def test_beside_a_writer_at_full_speed_no_record_is_torn_twice_or_missing(
    path: Path, max_bytes: int
) -> None:
    n_records = 8_000
    follower = Follower(path)
    with subprocess.Popen([sys.executable, "-c", _WRITER, path, str(n_records)], cwd=ROOT) as child:
        while child.poll() is None:
            follower.look(max_bytes)
    assert follower.look() == list(range(1, n_records + 1))
    assert all(record["inner"] == {"step": [-record["step"]]} for record in follower.records)
    assert (follower.n_restarts, follower.n_damaged) == (0, 0)
    assert follower.n_looks > 10


def test_each_record_is_brought_once(path: Path) -> None:
    follower = Follower(path)
    assert follower.look() == []
    array = RecordArray(path)
    assert follower.look() == []
    for step in (1, 2, 3):
        array.append({"step": step})
        assert follower.look() == list(range(1, step + 1))
        assert follower.tail.look().records == []
    array.close()


def test_a_torn_line_is_kept_for_the_look_after_its_repair(path: Path) -> None:
    _write(path, 1, 2)
    follower = Follower(path)
    follower.look()
    whole = path.read_bytes()
    path.write_bytes(whole[:-3] + b',\n{"step":3,"no')
    assert follower.look() == [1, 2]
    array = RecordArray(path)
    assert follower.look() == [1, 2]
    array.append({"step": 3})
    array.close()
    assert follower.look() == [1, 2, 3]
    assert (follower.n_restarts, follower.n_damaged) == (0, 0)


def test_a_replaced_file_is_read_from_its_start(path: Path) -> None:
    _write(path, 1, 2)
    follower = Follower(path)
    follower.look()
    _write(path, 1, 2, 3, note="")
    assert follower.look() == [1, 2, 3]
    assert follower.n_restarts == 1


def test_a_file_written_over_in_place_is_read_from_its_start_however_alike(path: Path) -> None:
    _write(path, 1, 2, note="a")
    follower = Follower(path)
    follower.look()
    inode = path.stat().st_ino
    _write(other := path.with_name("other"), 1, 2, 3, note="b")
    path.write_bytes(other.read_bytes())
    assert path.stat().st_ino == inode
    assert follower.look() == [1, 2, 3]
    assert {record["note"] for record in follower.records} == {"b"}
    assert follower.n_restarts == 1


def test_a_truncated_file_is_read_from_its_start(path: Path) -> None:
    _write(path, 1, 2, 3)
    follower = Follower(path)
    follower.look()
    os.truncate(path, path.read_bytes().index(b'{"step":3'))
    assert follower.look() == [1, 2]
    RecordArray(path).close()
    assert follower.look() == [1, 2]
    assert follower.n_restarts == 1


def test_a_deleted_file_voids_what_was_seen_until_it_is_there_again(path: Path) -> None:
    _write(path, 1, 2)
    follower = Follower(path)
    follower.look()
    path.unlink()
    assert follower.look() == []
    assert follower.look() == []
    assert follower.n_restarts == 1
    _write(path, 1)
    assert follower.look() == [1]


def test_a_folder_or_a_file_on_the_way_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    assert Follower(tmp_path / "folder").look() == []
    assert Follower(tmp_path / "file" / ".loss.json").look() == []


@pytest.mark.parametrize("max_bytes", [1, 10, 50, 500])
def test_bounded_looks_see_everything(path: Path, max_bytes: int) -> None:
    _write(path, *range(1, 60))
    follower = Follower(path)
    assert follower.look(max_bytes) == list(range(1, 60))
    assert follower.n_looks > 1


def test_a_bounded_look_reads_no_more_than_it_may(path: Path) -> None:
    _write(path, *range(1, 60))
    news = RecordTail(path).look(200)
    assert 0 < len(news.records) < 10
    assert news.has_more


@pytest.mark.parametrize("max_bytes", [16, 4 << 20])
def test_damaged_lines_in_the_middle_are_skipped_and_counted_once(
    path: Path, max_bytes: int
) -> None:
    path.write_bytes(b'[\n{"step":1},\n{"st\0\0\nx\n{"step":4},\n' + bytes(100) + b"\n")
    follower = Follower(path)
    assert follower.look(max_bytes) == [1, 4]
    assert follower.look(max_bytes) == [1, 4]
    assert follower.n_damaged == 2
    with path.open("ab") as file:
        file.write(b'{"step":6}\n]\n')
    assert follower.look(max_bytes) == [1, 4, 6]
    assert follower.n_damaged == 3


def _bytes_read_for_one_more(path: Path, n_records: int) -> int:
    array = RecordArray(path)
    for step in range(n_records):
        array.append({"step": 10**6 + step})
    follower = Follower(path)
    follower.look()
    array.append({"step": 10**6 + n_records})
    array.close()
    n_read = 0
    real = os.pread

    def counted(fd: int, n_bytes: int, offset: int) -> bytes:
        nonlocal n_read
        data = real(fd, n_bytes, offset)
        n_read += len(data)
        return data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pread", counted)
        assert len(follower.tail.look().records) == 1
    return n_read


def test_a_new_record_costs_the_same_however_long_the_file(tmp_path: Path) -> None:
    short = _bytes_read_for_one_more(tmp_path / "short", 10)
    long = _bytes_read_for_one_more(tmp_path / "long", 20_000)
    assert short == long < 200


@given(
    versions=st.lists(
        st.binary(max_size=40)
        | st.lists(st.sampled_from([b"[", b"]", b"\n", b",", b'{"step":1}', b"{}", b"x"])).map(
            b"".join
        ),
        max_size=4,
    ),
    max_bytes=st.integers(1, 50),
)
@example(versions=[b'{"step":1}\n{"step":2}\0\n'], max_bytes=1)
def test_any_bytes_are_looked_at_without_an_error_and_to_an_end(
    tmp_path_factory: pytest.TempPathFactory, versions: list[bytes], max_bytes: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    tail = RecordTail(path)
    for data in versions:
        path.write_bytes(data)
        for _ in range(len(data) + 2):
            news = tail.look(max_bytes)
            if not news.has_more:
                break
        assert not news.has_more
        assert tail.look(max_bytes).records == []


def test_a_hole_of_zeros_longer_than_any_record_is_read_over(path: Path) -> None:
    path.write_bytes(b'[\n{"step":1},\n')
    os.truncate(path, 300 << 20)
    with path.open("ab") as file:
        file.write(b'\n{"step":2}\n{"step":3}\n]\n')
    follower = Follower(path)
    assert follower.look() == [1, 2, 3]
    assert follower.n_damaged > 0


def test_lines_by_the_thousand_that_are_no_records_are_read_once(path: Path) -> None:
    path.write_bytes(b'[\n{"step":1},\n' + b'{"a":[\n' * 5000)
    follower = Follower(path)
    damaged = []
    for _ in range(3):
        assert follower.look() == [1]
        damaged.append(follower.n_damaged)
    assert damaged == [0, 5000, 5000]
    with path.open("ab") as file:
        file.write(b'{"step":2}\n]\n')
    assert follower.look() == [1, 2]

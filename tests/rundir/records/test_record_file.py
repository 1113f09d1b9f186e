import contextlib
import errno
import itertools
import os
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rundir.faulty_os import each_fault, files_in, recorded_os
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.records.record_file import Record, RecordArray, canonical, load_records


def _record(step: int) -> dict[str, Any]:
    return {"step": step, "arm": "docs", "loss": 1 / step, "parts": {"a": [step], "b": {}}}


def _fill(path: Path, n_records: int) -> bytes:
    array = RecordArray(path)
    for step in range(1, n_records + 1):
        array.append(_record(step))
    array.close()
    return path.read_bytes()


def _steps(path: Path) -> list[int]:
    """By a strict parser: fails unless the file is one valid document."""
    return [record["step"] for record in orjson.loads(path.read_bytes())]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".loss.json"


@contextmanager
def _room_for(n_bytes: int) -> Iterator[None]:
    """The kernel lets no file of this process grow beyond: short writes, then an error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_at_rest_it_is_one_valid_document_and_no_earlier_byte_ever_changes(path: Path) -> None:
    array = RecordArray(path)
    before = path.read_bytes()
    assert orjson.loads(before) == []
    for step in range(1, 20):
        array.append(_record(step))
        after = path.read_bytes()
        assert after.startswith(before[: -len(b"\n]\n")])
        assert orjson.loads(after) == [_record(n) for n in range(1, step + 1)]
        before = after
    array.close()


def test_an_append_is_one_write_whose_size_does_not_depend_on_the_length(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = os.pwrite

    def pwrite(fd: int, data: bytes, offset: int) -> int:
        sizes.append(len(data))
        return real(fd, data, offset)

    array = RecordArray(path)
    array.append({"step": 10_000})
    monkeypatch.setattr(os, "pwrite", pwrite)
    for step in range(10_001, 30_000):
        array.append({"step": step})
    array.close()
    assert len(sizes) == 30_000 - 10_001
    assert set(sizes) == {len(b',\n{"step":10001}\n]\n')}


def test_opening_goes_on_where_the_last_left_off(path: Path) -> None:
    whole = _fill(path, 3)
    array = RecordArray(path)
    assert array.records == [_record(n) for n in (1, 2, 3)]
    assert array.repair is None
    assert path.read_bytes() == whole
    array.append(_record(4))
    array.close()
    assert _steps(path) == [1, 2, 3, 4]


def test_a_tail_torn_at_any_byte_is_cut_kept_and_reported(path: Path) -> None:
    whole = _fill(path, 3)
    start = whole.index(b'{"step":3')
    behind = whole.rindex(b"}") + 1
    for cut in range(start - 2, len(whole) + 1):
        for fill in (b"", bytes(20)):
            path.write_bytes(whole[:cut] + fill)
            array = RecordArray(path)
            n_whole = 3 if cut >= behind else 2
            assert _steps(path) == [1, 2, 3][:n_whole]
            torn = (whole[:cut] + fill)[behind if n_whole == 3 else start - 2 :]
            if fill or start < cut < behind:
                assert array.repair
                assert array.repair.torn_bytes == len(torn)
                assert array.repair.kept_as.read_bytes() == torn
                array.repair.kept_as.unlink()
            assert set(files_in(path.parent)) == {path.name}
            array.append(_record(9))
            array.close()
            assert _steps(path) == [*[1, 2, 3][:n_whole], 9]


def test_a_first_record_that_is_torn_is_kept_and_the_array_empty(path: Path) -> None:
    path.write_bytes(b'[\n{"st')
    array = RecordArray(path)
    array.close()
    assert orjson.loads(path.read_bytes()) == []
    assert files_in(path.parent)[".loss.json.torn-1"] == b'[\n{"st'


def test_a_whole_record_without_its_newline_is_not_lost(path: Path) -> None:
    whole = _fill(path, 2)
    path.write_bytes(whole[: whole.rindex(b"}") + 1])
    array = RecordArray(path)
    array.close()
    assert path.read_bytes() == whole
    assert array.repair is None


def test_torn_tails_of_several_crashes_are_all_kept(path: Path) -> None:
    whole = _fill(path, 2)
    for torn in (b"first", b"second"):
        path.write_bytes(whole + torn)
        RecordArray(path).close()
    assert files_in(path.parent) == {
        ".loss.json": whole,
        ".loss.json.torn-1": b"\n]\nfirst",
        ".loss.json.torn-2": b"\n]\nsecond",
    }


@pytest.mark.parametrize("data", [b"", b"[", b"[]", b"[]\n", b"[\n]", b"[\n\n]\n"])
def test_an_empty_array_however_written_is_no_repair(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    array = RecordArray(path)
    array.append(_record(1))
    array.close()
    assert (_steps(path), array.repair) == ([1], None)


def test_a_fault_at_any_call_while_opening_loses_no_record(tmp_path: Path) -> None:
    whole = _fill(tmp_path / "whole.json", 3)
    torn = whole[:-6]

    def repair(folder: Path) -> None:
        (folder / "x.json").write_bytes(torn)
        RecordArray(folder / "x.json").close()

    for call, folder in each_fault(repair, tmp_path):
        assert load_records(folder / "x.json").records == [_record(1), _record(2)], call
        rests = {data for name, data in files_in(folder).items() if "torn" in name}
        is_cut = len((folder / "x.json").read_bytes()) < len(torn)
        assert rests or not is_cut, call


@pytest.mark.parametrize("room_bytes", [0, 1, 2, 3, 40, 60])
def test_without_room_the_record_waits_and_the_file_stays_valid(
    path: Path, room_bytes: int
) -> None:
    before = _fill(path, 2)
    array = RecordArray(path)
    with _room_for(len(before) + room_bytes):
        for step in (3, 4):
            with pytest.raises(OSError, match=r"No space left|File too large"):
                array.append(_record(step))
            assert path.read_bytes() == before
        with pytest.raises(OSError, match=r"No space left|File too large"):
            array.flush()
    assert len(array.pending) == 2
    array.append(_record(5))
    array.close()
    assert _steps(path) == [1, 2, 3, 4, 5]
    assert array.pending == []


@pytest.mark.parametrize("n_before", [0, 2])
def test_a_write_error_keeps_the_record_for_the_next(path: Path, n_before: int) -> None:
    _fill(path, n_before)
    array = RecordArray(path)
    with recorded_os(0, errno.EIO), pytest.raises(OSError, match="Input/output"):
        array.append(_record(7))
    assert _steps(path) == [1, 2][:n_before]
    array.flush()
    array.close()
    assert _steps(path) == [*[1, 2][:n_before], 7]


def test_after_a_failed_sync_the_same_bytes_are_written_again(path: Path) -> None:
    _fill(path, 2)
    array = RecordArray(path)
    array.sync()
    array.append(_record(3))
    whole = path.read_bytes()
    with recorded_os(0), pytest.raises(OSError, match="Input/output"):
        array.sync()
    with recorded_os() as calls:
        array.sync()
        array.sync()
    assert calls == ["pwrite ?", "fsync ?", "fsync ?"]
    assert path.read_bytes() == whole
    array.close()


def test_appends_go_on_beside_the_syncs_of_a_save_each_other_of_which_fails(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = itertools.cycle((OSError(errno.EIO, "Input/output error"), None))

    def fsync(fd: int) -> None:
        if error := next(outcomes):
            raise error

    def sync_again_and_again() -> None:
        for _ in range(200):
            with contextlib.suppress(OSError):
                array.sync()

    array = RecordArray(path)
    monkeypatch.setattr(os, "fsync", fsync)
    steps = itertools.count(1)
    with ThreadPoolExecutor(1) as thread:
        syncing = thread.submit(sync_again_and_again)
        while not syncing.done():
            array.append({"step": next(steps)})
        syncing.result()
    array.close()
    assert _steps(path) == list(range(1, next(steps)))


@pytest.mark.parametrize(
    "data",
    [
        orjson.dumps([_record(1), _record(2)], option=orjson.OPT_INDENT_2),
        orjson.dumps([_record(1), _record(2)]),
        orjson.dumps(_record(1)),
        b'{"step":1}\n{"step":2}\n',
        b'[\n{"step":1}\n{"step":2}\n]\n',
        b'[\n{"step":1},\n{\n"step":2\n},\n{"step":3}\n]\n',
    ],
    ids=["pretty", "one line", "object", "JSON lines", "no comma", "partly pretty"],
)
def test_another_layout_is_refused_with_the_mend_and_left_alone(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(HistoryError, match=r"\.loss\.json: is .*`andrea-console verify .* --mend`"):
        RecordArray(path)
    assert files_in(path.parent) == {".loss.json": data}


_PIECES = [b"[", b"]", b"\n", b",", b'{"a":1}', b'{"a":{"b":"}\\n"}}', b'{"a"', b"\0", b"x"]


@given(data=st.binary(max_size=60) | st.lists(st.sampled_from(_PIECES)).map(b"".join))
@example(data=b'\n[{"a":1}')
def test_any_bytes_become_a_valid_array_or_are_refused_untouched(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / "x.json"
    path.write_bytes(data)
    try:
        array = RecordArray(path)
    except HistoryError:
        assert files_in(path.parent) == {"x.json": data}
        return
    assert orjson.loads(path.read_bytes()) == array.records
    rest = data[load_records(path).end :]
    kept = array.repair.kept_as.read_bytes() if array.repair else b""
    assert kept == rest or (not kept and not rest.strip(b"[], \r\n"))
    array.append({"a": 2})
    array.close()
    assert orjson.loads(path.read_bytes()) == [*array.records, {"a": 2}]


def test_readers_take_the_last_record_of_a_step_in_order_of_steps() -> None:
    records: list[Record] = [
        {"step": 2, "n": 1},
        {"step": 1},
        {"step": 2, "n": 2},
        {"step": "3"},
        {"step": True},
    ]
    assert canonical([*records, {}]) == {1: {"step": 1}, 2: {"step": 2, "n": 2}}
    assert list(canonical(records)) == [1, 2]

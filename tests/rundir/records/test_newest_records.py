"""The newest record, from the file's end."""

from pathlib import Path

import pytest

from trainer.rundir.records import newest_records
from trainer.rundir.records.newest_records import last_record

FIRST = b'[\n{"step":1}'


@pytest.mark.parametrize(
    ("tail", "step"),
    [
        (b',\n{"step":2}\n]\n', 2),
        (b',\n{"step":2}', 2),
        (b',\n{"step":2,"los', 1),
        (b',\n{"step":2}\0\0', 1),
        (bytes(200_000), None),
        (b"\n" + bytes(200_000), 1),
        (b',\n{"step":2} x\n{"a":}\n', 1),
    ],
)
def test_the_last_whole_line_is_the_newest_record(
    tmp_path: Path, tail: bytes, step: int | None
) -> None:
    path = tmp_path / "x"
    path.write_bytes(FIRST + tail)
    assert (last_record(path) or {}).get("step") == step


@pytest.mark.parametrize("line", [b'[\n{"a":[', b'{"a":}\n'])
def test_no_million_damaged_lines_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    tried: list[bytes] = []
    monkeypatch.setattr(newest_records, "_record", tried.append)
    path = tmp_path / "x"
    path.write_bytes(line * 1_000_000)
    assert last_record(path) is None
    assert len(tried) < 10_000

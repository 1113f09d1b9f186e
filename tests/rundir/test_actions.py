import json
import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from trainer.rundir.actions import log_action


def _lines(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def test_a_line_tells_who_did_what_when_and_how_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    path = tmp_path / "actions.jsonl"
    log_action(path, "checkpoint", "written", step=100, child=tmp_path)
    log_action(path, "stop", "sent")
    first, second = _lines(path)
    assert first["t"] <= second["t"]
    assert (first["user"], first["action"], first["outcome"]) == ("ada", "checkpoint", "written")
    assert (first["step"], first["child"]) == (100, str(tmp_path))
    assert set(second) == {"t", "user", "host", "action", "outcome"}


def test_each_line_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []

    def write(fd: int, data: bytes) -> int:
        written.append(data)
        return len(data)

    monkeypatch.setattr(os, "write", write)
    log_action(tmp_path / "actions.jsonl", "stop", "sent")
    assert len(written) == 1
    assert written[0].endswith(b"}\n")


def test_a_line_cut_short_is_an_error_and_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "actions.jsonl"
    real = os.write
    log_action(path, "first", "sent")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: real(fd, data[:10]))
        with pytest.raises(OSError, match=r"space.*actions\.jsonl"):
            log_action(path, "lost", "sent")
    log_action(path, "third", "sent")
    before, torn, after, rest = path.read_bytes().split(b"\n")
    assert (len(torn), rest) == (10, b"")
    assert orjson.loads(before)["action"] == "first"
    assert orjson.loads(after)["action"] == "third"


def test_a_user_without_a_name_is_told_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr("getpass.getuser", nameless)
    log_action(tmp_path / "actions.jsonl", "stop", "sent")
    assert _lines(tmp_path / "actions.jsonl")[0]["user"] == str(os.getuid())


def test_an_outcome_that_names_undecodable_bytes_is_logged_spelled_out(tmp_path: Path) -> None:
    log_action(tmp_path / "actions.jsonl", "pivot", "\udcff: no pivot", ok=False)
    assert json.loads((tmp_path / "actions.jsonl").read_text())["outcome"] == "\\xff: no pivot"

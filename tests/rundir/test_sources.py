"""What a source gives, and what it says when it can't."""

import os
from pathlib import Path

import pytest

from trainer.rundir.outcomes import Exit
from trainer.rundir.settings import SourceSettings
from trainer.rundir.sources import (
    LONGEST_PART_CHARACTERS,
    PART_CHARACTERS,
    SourceError,
    naming,
    read_documents,
    source_stamp,
)


def _read(base: Path, path: str, field: str = "text") -> list[str]:
    return list(read_documents(SourceSettings(path=path, field=field), base))


def _write(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_glob_goes_into_folders_and_gives_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "a/skip.md"):
        _write(tmp_path / name, name)
    assert _read(tmp_path, "**/*.txt") == ["a/b/c.txt", "a/z.txt", "b.txt"]


def test_absolute_path_is_taken_as_it_is(tmp_path: Path) -> None:
    file = _write(tmp_path / "here.txt", "text")
    assert _read(Path("/nowhere"), str(file)) == ["text"]


def test_file_whose_name_looks_like_a_glob_is_read(tmp_path: Path) -> None:
    _write(tmp_path / "data[1].txt", "text")
    assert _read(tmp_path, "data[1].txt") == ["text"]


def test_bytes_that_are_no_utf8_are_replaced(tmp_path: Path) -> None:
    _write(tmp_path / "a.txt", b"caf\xe9 \xff ok")
    assert _read(tmp_path, "a.txt") == ["caf\ufffd \ufffd ok"]


def test_blank_files_give_no_document(tmp_path: Path) -> None:
    _write(tmp_path / "a.txt", " \n\n")
    _write(tmp_path / "b.txt", "text")
    assert _read(tmp_path, "*.txt") == ["text"]


def test_large_text_is_cut_at_blank_lines_and_loses_nothing(tmp_path: Path) -> None:
    text = "".join(f"Speaker {i}:\nA line of the play.\n\n" for i in range(10_000))
    _write(tmp_path / "input.txt", text)
    parts = _read(tmp_path, "input.txt")
    assert "".join(parts) == text
    assert len(parts) >= len(text) // (PART_CHARACTERS + 100)
    assert all(part.endswith("\n\n") for part in parts)


@pytest.mark.parametrize("text", ["x" * 300_000, "a line\n" * 40_000])
def test_large_text_without_blank_lines_is_cut_all_the_same(tmp_path: Path, text: str) -> None:
    _write(tmp_path / "input.txt", text)
    parts = _read(tmp_path, "input.txt")
    assert "".join(parts) == text
    assert max(map(len, parts)) < 2 * LONGEST_PART_CHARACTERS
    assert len(parts) > 2


def test_json_lines_give_the_named_field(tmp_path: Path) -> None:
    _write(tmp_path / "a.jsonl", '{"text": "one"}\n\n{"text": "two", "x": 1}')
    _write(tmp_path / "b.ndjson", '{"body": "three"}\n')
    assert _read(tmp_path, "a.jsonl") == ["one", "two"]
    assert _read(tmp_path, "b.ndjson", "body") == ["three"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"text": ', "not a JSON value"),
        ('"text"', "an object with the field 'text' is needed"),
        ('{"body": "x", "id": 1}', "no field 'text'; it has 'body', 'id'"),
        ('{"text": 5}', "the field 'text' is no text but 5"),
    ],
)
def test_bad_json_line_is_named_by_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    _write(tmp_path / "a.jsonl", '{"text": "one"}\n' + line)
    with pytest.raises(SourceError, match=r"a\.jsonl, line 2: ") as error:
        _read(tmp_path, "a.jsonl")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("gone.txt", r"gone\.txt: no such file"),
        ("*.none", r"\*\.none: no such file"),
        ("folder", r"folder: is a folder; write .*folder/\*\*/\*\.txt"),
        ("folder/blank.txt", "there is no text in it"),
        ("python:doc", "python:doc: unknown; did you mean python:docs"),
        ("python:", "unknown; did you mean python:"),
    ],
)
def test_source_that_cannot_be_used_says_why(tmp_path: Path, path: str, said: str) -> None:
    _write(tmp_path / "folder" / "blank.txt", "\n \n")
    with pytest.raises(SourceError, match=said):
        _read(tmp_path, path)


def test_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "a.txt", "text")

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(SourceError, match=r"a\.txt: cannot be read \(Permission denied\)"):
        _read(tmp_path, "a.txt")


def test_error_is_the_operators_and_can_name_its_setting() -> None:
    with pytest.raises(SourceError, match=r"^sources\.web: gone$") as error, naming("web"):
        raise SourceError("gone")
    assert error.value.exit_code is Exit.USAGE


def test_stamp_changes_with_name_size_and_time_of_a_file(tmp_path: Path) -> None:
    source = SourceSettings(path="*.txt")
    file = _write(tmp_path / "a.txt", "text")
    os.utime(file, ns=(1, 1))
    stamps = [source_stamp(source, tmp_path)]
    assert source_stamp(source, tmp_path) == stamps[0]
    os.utime(file, ns=(2, 2))
    stamps.append(source_stamp(source, tmp_path))
    _write(file, "texts")
    os.utime(file, ns=(2, 2))
    stamps.append(source_stamp(source, tmp_path))
    file.rename(tmp_path / "b.txt")
    stamps.append(source_stamp(source, tmp_path))
    stamps.append(source_stamp(SourceSettings(path="*.txt", field="body"), tmp_path))
    assert len(set(stamps)) == 5


def test_stamp_of_a_source_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        source_stamp(SourceSettings(path="gone.txt"), tmp_path)

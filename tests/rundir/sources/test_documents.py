"""What a source gives, and what it says when it can't."""

import gzip
import io
import os
import random
import sys
import tarfile
from pathlib import Path

import pytest

from tests.rundir.sources.test_pieces import prose
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, SettingsError, SourceError
from trainer.rundir.sources.documents import look_at_files, naming, read_documents
from trainer.rundir.sources.pieces import pieces_of
from trainer.rundir.sources.source_size import measure_source
from trainer.rundir.sources.text_files import LONGEST_PART_CHARACTERS, PART_CHARACTERS
from trainer.rundir.sources.text_rules import TextRules


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


_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
    "0000000b4944415478da6364f80f00010501012718e3660000000049454e44ae426082"
)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(_PNG, id="picture"),
        pytest.param(Path(sys.executable).read_bytes()[:300_000], id="program"),
        pytest.param(random.Random(1).randbytes(200), id="few random bytes"),
        pytest.param(random.Random(2).randbytes(300_000), id="many random bytes"),
        pytest.param(gzip.compress(bytes(4096)), id="compressed hole"),
        pytest.param(gzip.compress(gzip.compress(b"text " * 99)), id="compressed twice"),
        pytest.param(bytes(4096), id="a hole"),
        pytest.param("text in sixteen bits".encode("utf-16"), id="UTF-16"),
        pytest.param("text in sixteen bits".encode("utf-16-le"), id="UTF-16 without its mark"),
    ],
)
@pytest.mark.parametrize("name", ["b.dat", "b.jsonl"])
def test_file_that_is_no_text_is_named_with_what_to_do(
    tmp_path: Path, name: str, data: bytes
) -> None:
    _write(tmp_path / "a.dat", "text")
    _write(tmp_path / name, data)
    source = SourceSettings(path=f"*{Path(name).suffix}")
    with pytest.raises(SourceError, match=rf"{name}.*: is no text.* narrow the path"):
        list(read_documents(source, tmp_path))
    with pytest.raises(SourceError, match=rf"{name}.*: is no text"):
        measure_source(RunDirectory(tmp_path), source)
    with pytest.raises(SettingsError, match=rf"--source mine=.*{name}.*: is no text"):
        ensure_run(tmp_path / "run", sources={"mine": f"{tmp_path}/{source.path}"})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("naïve façade, déjà vu".encode("latin-1"), id="Latin-1"),
        pytest.param(("всё это текст\r\n" * 99).encode("cp1251"), id="Windows-1251"),
        pytest.param(("這是文字\n" * 99).encode("gbk"), id="GBK"),
        pytest.param("日本語".encode("shift-jis"), id="Shift-JIS"),
        pytest.param("日本語".encode("iso-2022-jp"), id="ISO-2022-JP"),
        pytest.param("這是文字 🙂 \ufeff".encode(), id="UTF-8"),
        pytest.param(b"\x1b[31mred\x1b[0m\a\n\f" * 9, id="colours of a terminal"),
        pytest.param(b"an old file of DOS\r\n\x1a", id="end of a DOS file"),
        pytest.param(b"a line with dirt \x00\x01 in it\n" + b"a clean line\n" * 99, id="dirt"),
    ],
)
def test_text_in_any_encoding_passes(tmp_path: Path, data: bytes) -> None:
    _write(tmp_path / "a.txt", data)
    (document,) = _read(tmp_path, "a.txt")
    assert document.strip()


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


def test_parts_of_a_large_text_have_the_pieces_of_the_whole(tmp_path: Path) -> None:
    text = prose(3, 5000) + "a line that is longer than any piece " * 400 + "\n" + prose(4, 2000)
    _write(tmp_path / "large.txt", text)
    source = SourceSettings(path="large.txt")
    parts = list(read_documents(source, tmp_path, rules=TextRules(piece_characters=256)))
    assert len(parts) > 10
    assert "".join(parts) == text
    cut = [piece for part in parts for piece in pieces_of(part, 256)]
    assert cut == list(pieces_of(text, 256))


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
        ("folder", "folder: there is no text in it"),
        ("empty", "empty: is a folder without a file"),
        ("folder/blank.txt", "there is no text in it"),
        ("python:doc", "python:doc: unknown; did you mean python:docs"),
        ("python:", "unknown; did you mean python:"),
    ],
)
def test_source_that_cannot_be_used_says_why(tmp_path: Path, path: str, said: str) -> None:
    _write(tmp_path / "folder" / "blank.txt", "\n \n")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=said):
        _read(tmp_path, path)


def test_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "a.txt", "text")

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
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
    stamps = [look_at_files(source, tmp_path).stamp]
    assert look_at_files(source, tmp_path).stamp == stamps[0]
    os.utime(file, ns=(2, 2))
    stamps.append(look_at_files(source, tmp_path).stamp)
    _write(file, "texts")
    os.utime(file, ns=(2, 2))
    stamps.append(look_at_files(source, tmp_path).stamp)
    file.rename(tmp_path / "b.txt")
    stamps.append(look_at_files(source, tmp_path).stamp)
    stamps.append(look_at_files(SourceSettings(path="*.txt", field="body"), tmp_path).stamp)
    assert len(set(stamps)) == 5


def test_stamp_of_a_source_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        look_at_files(SourceSettings(path="gone.txt"), tmp_path)


def _tar() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = 60_000
        archive.addfile(member, io.BytesIO(b"plain text, " * 5000))
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        pytest.param("a.txt", _tar(), "a tar archive.*unpack it", id="tar"),
        pytest.param(
            "a.txt", b"PK\x03\x04" + b"stored text " * 900, "a zip archive.*unpack it", id="zip"
        ),
        pytest.param("a.txt", b"%PDF-1.4\n" + b"1 0 obj " * 900, "a PDF.*pdftotext", id="PDF"),
        pytest.param("a.txt.gz", gzip.compress(_tar()), "a tar archive.*unpack it", id="tar.gz"),
    ],
)
def test_file_of_another_kind_under_the_name_of_a_text_is_refused_by_its_content(
    tmp_path: Path, name: str, data: bytes, kind: str
) -> None:
    _write(tmp_path / name, data)
    with pytest.raises(SourceError, match=rf"{name}.*: is no text but .*{kind}"):
        _read(tmp_path, name)


def test_json_without_the_field_and_text_in_braces_are_text(tmp_path: Path) -> None:
    for number, text in enumerate(('{"id": 1}\n{"id": 2}', "{not json}", '{\n "text": "a"\n}')):
        _write(tmp_path / f"{number}.json", text)
        assert _read(tmp_path, f"{number}.json") == [text]


def test_name_of_any_bytes_is_written_in_an_error(tmp_path: Path) -> None:
    """It was a TypeError: JSON, and a terminal's UTF-8, can't hold the bytes."""
    name = os.fsdecode(b"caf\xe9\n.jsonl")
    _write(tmp_path / name, "no json")
    with pytest.raises(SourceError) as caught:
        _read(tmp_path, "*.jsonl")
    assert str(caught.value).isprintable()
    assert "caf\\xe9\\x0a.jsonl, line 1: not a JSON value" in str(caught.value)

"""Files of every kind that people have their text in, made by the tools that make them."""

import bz2
import gzip
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
import zstandard

from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.outcomes import SettingsError, SourceError
from trainer.rundir.sources.documents import read_documents
from trainer.rundir.sources.left_out import LeftOut
from trainer.rundir.sources.text_rules import TextRules

TEXTS = ["first text", "naïve façade — déjà vu", "third\ntext"]
LINES = b"".join(orjson.dumps({"text": text, "id": n}) + b"\n" for n, text in enumerate(TEXTS))
TABLE = pa.table({"id": range(len(TEXTS)), "text": TEXTS})

COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def read(base: Path, path: str, **settings: object) -> list[str]:
    return list(read_documents(SourceSettings(path=path, **settings), base))  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_compressed_files_give_what_is_in_them(tmp_path: Path, suffix: str) -> None:
    compress = COMPRESSED[suffix]
    (tmp_path / f"a.jsonl.{suffix}").write_bytes(compress(LINES))
    (tmp_path / f"b.txt.{suffix}").write_bytes(compress(b"plain"))
    assert read(tmp_path, f"a.jsonl.{suffix}") == TEXTS
    assert read(tmp_path, f"b.txt.{suffix}") == ["plain"]


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_files_of_several_compressed_streams_are_read_to_their_end(
    tmp_path: Path, suffix: str
) -> None:
    compress = COMPRESSED[suffix]
    (tmp_path / f"a.jsonl.{suffix}").write_bytes(compress(LINES) + compress(LINES))
    assert read(tmp_path, f"a.jsonl.{suffix}") == TEXTS * 2


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_large_compressed_text_has_the_parts_of_the_plain_file(tmp_path: Path, suffix: str) -> None:
    text = "".join(f"Speaker {i}:\nA line of the play.\n\n" for i in range(10_000)).encode()
    (tmp_path / "plain.txt").write_bytes(text)
    (tmp_path / f"a.txt.{suffix}").write_bytes(COMPRESSED[suffix](text))
    parts = read(tmp_path, f"a.txt.{suffix}")
    assert parts == read(tmp_path, "plain.txt")
    assert len(parts) > 2


@pytest.mark.parametrize("suffix", COMPRESSED)
@pytest.mark.parametrize("damage", ["cut", "bent"])
def test_damaged_compressed_file_is_named(tmp_path: Path, suffix: str, damage: str) -> None:
    data = COMPRESSED[suffix](b"".join(orjson.dumps({"text": f"{n}"}) + b"\n" for n in range(9999)))
    half = len(data) // 2
    bent = data[:half] + bytes(b ^ 0x5A for b in data[half : half + 64]) + data[half + 64 :]
    (tmp_path / f"a.jsonl.{suffix}").write_bytes(data[:half] if damage == "cut" else bent)
    with pytest.raises(SourceError, match=rf"a\.jsonl\.{suffix}.*(damaged|cannot be read)"):
        read(tmp_path, f"a.jsonl.{suffix}", max_odd_share=0.99)


def test_what_a_file_is_counts_before_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(gzip.compress(LINES))
    (tmp_path / "b.txt").write_bytes(LINES)
    (tmp_path / "c.json").write_bytes(b"\xef\xbb\xbf" + LINES)
    assert read(tmp_path, "*.*") == TEXTS * 3


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array_gives_its_elements_one_by_one(tmp_path: Path, indent: int | None) -> None:
    elements = [{"text": f"text {n} [{{,", "more": {"n": [n]}} for n in range(30_000)]
    (tmp_path / "a.json").write_text(json.dumps(elements, indent=indent))
    assert read(tmp_path, "a.json") == [element["text"] for element in elements]


def test_a_json_array_that_is_cut_off_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"text": "one"}, {"text": "tw')
    with pytest.raises(SourceError, match=r"a\.json: a JSON array that doesn't go on at"):
        read(tmp_path, "a.json")


def test_rules_before_3_read_a_json_array_as_the_text_that_it_was_taken_for(tmp_path: Path) -> None:
    written = '[{"text": "one"}]'
    (tmp_path / "a.json").write_text(written)
    source = SourceSettings(path="a.json")
    old = TextRules(piece_characters=256, reads_arrays=False)
    assert list(read_documents(source, tmp_path, rules=old)) == [written]
    assert read(tmp_path, "a.json") == ["one"]


def test_text_of_rules_1_is_read_by_names_where_it_was_trained_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(LINES)
    source = SourceSettings(path="a.txt")
    old = TextRules(trusts_names=True, reads_arrays=False)
    trained = read_documents(source, tmp_path, rules=old, is_checked=False)
    assert list(trained) == [LINES.decode()]


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
def test_parquet_gives_the_named_column(tmp_path: Path, compression: str) -> None:
    pyarrow.parquet.write_table(
        TABLE, tmp_path / "a.parquet", compression=compression, row_group_size=2
    )
    assert read(tmp_path, "a.parquet") == TEXTS
    with pytest.raises(SourceError, match=r"a\.parquet: the column 'id' is no text but int64"):
        read(tmp_path, "a.parquet", field="id")
    with pytest.raises(SourceError, match=r"no column 'body'; it has 'id', 'text'"):
        read(tmp_path, "a.parquet", field="body")


def test_dictionaries_and_large_strings_are_text_too(tmp_path: Path) -> None:
    for name, kind in {"a": pa.large_string(), "b": pa.dictionary(pa.int32(), pa.string())}.items():
        column = pa.array(TEXTS).cast(kind)
        pyarrow.parquet.write_table(pa.table({"text": column}), tmp_path / f"{name}.parquet")
    assert read(tmp_path, "*.parquet") == TEXTS * 2


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_gives_the_named_column(tmp_path: Path, kind: str) -> None:
    make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with make(tmp_path / "a.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=2)
    assert read(tmp_path, "a.arrow") == TEXTS


def test_damaged_parquet_is_named(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet")
    data = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(data[: len(data) // 2])
    with pytest.raises(SourceError, match=r"a\.parquet: is damaged or cut off"):
        read(tmp_path, "a.parquet")


def test_without_pyarrow_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SourceError, match=r"pip install 'andrea\[data\]'"):
        read(tmp_path, "a.parquet")
    with pytest.raises(SettingsError, match=r"--source p=.*pip install 'andrea\[data\]'"):
        ensure_run(tmp_path / "run", sources={"p": str(tmp_path / "a.parquet")})


def save_dataset(folder: Path) -> None:
    """As `datasets.save_to_disk` lays one out: streams of Arrow, named by `state.json`."""
    folder.mkdir(parents=True)
    for number in range(2):
        name = f"data-{number:05}-of-00002.arrow"
        with pa.ipc.new_stream(folder / name, TABLE.schema) as writer:
            writer.write_table(TABLE)
    files = [{"filename": f"data-{n:05}-of-00002.arrow"} for n in range(2)]
    (folder / "state.json").write_text(json.dumps({"_data_files": files, "_split": "train"}))
    (folder / "dataset_info.json").write_text('{"description": "not trained on"}')


def test_a_saved_data_set_is_read_by_its_own_list(tmp_path: Path) -> None:
    save_dataset(tmp_path / "saved")
    assert read(tmp_path, "saved") == TEXTS * 2


def test_of_several_saved_data_sets_one_has_to_be_named(tmp_path: Path) -> None:
    save_dataset(tmp_path / "saved" / "train")
    (tmp_path / "saved" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    with pytest.raises(SourceError, match=r"several data sets; name one of them: .*saved/train"):
        read(tmp_path, "saved")
    assert read(tmp_path, "saved/train") == TEXTS * 2


def test_a_folder_is_all_text_below_it_and_says_what_was_left(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("a text")
    (folder / "deep" / "b.jsonl.gz").write_bytes(gzip.compress(LINES))
    (folder / "c.bin").write_bytes(bytes(range(256)) * 9)
    (folder / "d.zip").write_bytes(b"PK\x03\x04" + b"stored " * 99)
    (folder / ".hidden").write_text("not taken")
    left_out = LeftOut(0.01)
    source = SourceSettings(path="mixed")
    assert list(read_documents(source, tmp_path, left_out=left_out)) == ["a text", *TEXTS]
    assert left_out.files == 2
    assert "c.bin: is no text" in left_out.words
    assert "d.zip: is no text but a zip archive" in left_out.words


def test_a_folder_that_holds_the_run_gives_nothing_of_the_run(tmp_path: Path) -> None:
    run = tmp_path / "data" / "run"
    run.mkdir(parents=True)
    (run / "trainer.log").write_text("words of the trainer")
    (tmp_path / "data" / "a.txt").write_text("a text")
    assert read(run, "..") == ["a text"]


def test_a_run_is_made_of_a_folder_and_of_each_kind(tmp_path: Path) -> None:
    save_dataset(tmp_path / "saved")
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet")
    paths = {"saved": str(tmp_path / "saved"), "table": str(tmp_path / "a.parquet")}
    run, is_made = ensure_run(tmp_path / "run", sources=paths)
    assert is_made
    assert f'path = "{paths["saved"]}"' in run.settings.read_text()


ODD = [
    '{"text": null}',
    '{"body": "x"}',
    "[1]",
    '{"text": "half',
    '{"text": "\\ud800"}',
]


def test_odd_lines_are_left_out_counted_and_named_up_to_a_share(tmp_path: Path) -> None:
    lines = [json.dumps({"text": f"text {n}"}) for n in range(400)] + ODD
    lines[5] = '{"text": "beside it stands", "loss": NaN}'
    (tmp_path / "a.jsonl").write_text("\ufeff" + "\n".join(lines))
    left_out = LeftOut(0.02)
    source = SourceSettings(path="a.jsonl", max_odd_share=0.02)
    found = list(read_documents(source, tmp_path, left_out=left_out))
    assert len(found) == 400
    assert found[0] == "text 0"
    assert found[5] == "beside it stands"
    assert left_out.odd_records == len(ODD)
    assert all(f"line {number}: " in left_out.words for number in range(401, 406))
    with pytest.raises(SourceError, match=r"5 of 405 records .* max_odd_share = 0\.01: .*line 401"):
        read(tmp_path, "a.jsonl")


def test_a_source_that_is_odd_by_half_is_refused_before_its_end(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"body": "x"}\n' * 30_000)
    with pytest.raises(SourceError, match=r"10,000 of 10,000 records .*no field 'text'"):
        read(tmp_path, "a.jsonl")


def test_rows_without_a_text_are_odd_records(tmp_path: Path) -> None:
    table = pa.table({"text": [*TEXTS, None]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path, "a.parquet", max_odd_share=0.5) == TEXTS
    with pytest.raises(SourceError, match=r"1 of 4 records .* row 4: 'text' is None"):
        read(tmp_path, "a.parquet")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_web_archive_is_refused_but_by_runs_that_took_it_for_text(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.wet"
    path.write_bytes(pack(b"WARC/1.0\r\nWARC-Type: conversion\r\n\r\nwords"))
    source = SourceSettings(path=str(path))
    with pytest.raises(SourceError, match=r"a\.wet.*: is no text but a web archive"):
        list(read_documents(source, tmp_path))
    old = TextRules(refuses_web_archives=False)
    (document,) = read_documents(source, tmp_path, rules=old)
    assert document.endswith("words")

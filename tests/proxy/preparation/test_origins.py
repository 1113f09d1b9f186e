"""Where each row comes from: as a walk through the files would tell, and cheap for 10^8 of them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import orjson
import pytest

from tests.rundir.sources.test_pieces import prose
from trainer.proxy.preparation import units
from trainer.proxy.preparation.prepare import Preparation
from trainer.proxy.progress import ignore
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.documents import FileFacts, SourceFiles
from trainer.rundir.sources.origins import origin_of, packed
from trainer.rundir.sources.prepared import TokenIndex, origins_path, write_index
from trainer.rundir.sources.text_rules import TextRules

CONTEXT = 16


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """JSON lines with blank and odd ones among them, a text file, an array; some in pieces."""
    folder = tmp_path / "text"
    folder.mkdir()
    lines = [orjson.dumps({"text": prose(seed, 40)}) for seed in range(40)]
    lines[7:7] = [b"", b'{"body": 1}', b"", orjson.dumps({"text": " "})]
    (folder / "a.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    (folder / "b.jsonl").write_bytes(b"\n" + orjson.dumps({"text": "small"}))
    (folder / "c.png").write_bytes(bytes(range(256)) * 9)
    (folder / "d.json").write_bytes(
        orjson.dumps([{"text": prose(n, 30)} for n in range(90, 95)], option=orjson.OPT_INDENT_2)
    )
    (folder / "e.txt").write_text(prose(99, 4_000).replace(". ", ".\n\n"))
    return folder


@pytest.fixture
def prepared(tmp_path: Path, text: Path, tokenizer: TextTokenizer) -> tuple[Path, TokenIndex]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "UNIT_BYTES", 2_000)
        patch.setattr(units, "_SMALL_FILE_BYTES", 500)
        index, files = Preparation(
            name="mixed",
            source=SourceSettings(path="text", max_odd_share=0.1),
            base=tmp_path,
            folder=tmp_path / "to",
            rules=TextRules(piece_characters=64),
            is_checked=True,
            tokenizer=tokenizer,
            dtype="<u2",
            progress=ignore,
        ).run()
    write_index(tmp_path / "to", index, files)
    return tmp_path / "to", index


def written_at(folder: Path) -> Iterator[tuple[tuple[str, int], str]]:
    """File and row of each document, by the plainest reading."""
    for name in ("a.jsonl", "b.jsonl"):
        for number, line in enumerate((folder / name).read_bytes().split(b"\n"), start=1):
            record = orjson.loads(line or b"{}")
            if record.get("text", "").strip():
                yield (f"text/{name}", number), record["text"]
    for number, record in enumerate(orjson.loads((folder / "d.json").read_bytes()), start=1):
        yield ("text/d.json", number), record["text"]
    lines = (folder / "e.txt").read_text().splitlines(keepends=True)
    for number in range(1, len(lines) + 1):
        yield ("text/e.txt", number), "".join(lines[number - 1 :])


def test_each_row_is_made_of_the_documents_it_is_said_to_be(
    prepared: tuple[Path, TokenIndex], text: Path, tokenizer: TextTokenizer
) -> None:
    folder, index = prepared
    texts = dict(written_at(text))
    tokens = np.fromfile(folder / index.file_names[0], "<u2")
    seen = set()
    for row in range(index.train_rows(CONTEXT)):
        of_row = tokens[row * CONTEXT :][: CONTEXT + 1]
        found = origin_of(folder, row, context=CONTEXT)
        assert [part.begin for part in found] == [0, *(part.end for part in found[:-1])]
        assert found[-1].end == len(of_row)
        for part in found:
            seen.add((part.file, part.row))
            for stretch in tokenizer.decode(of_row[part.begin : part.end].tolist()).split("\n"):
                assert stretch.strip("\ufffd") in texts[part.file, part.row]
    assert {name for name, _ in seen} == {
        "text/a.jsonl",
        "text/b.jsonl",
        "text/d.json",
        "text/e.txt",
    }


def test_of_a_version_that_kept_no_origins_it_is_said(prepared: tuple[Path, TokenIndex]) -> None:
    folder, index = prepared
    origins_path(folder, index).unlink()
    with pytest.raises(SourceError, match="a version that did not keep where its rows come from"):
        origin_of(folder, 0, context=CONTEXT)
    with pytest.raises(SourceError, match=r"has no row 999,999, of [0-9,]+"):
        origin_of(folder, 999_999, context=CONTEXT)


def generated(folder: Path, n_documents: int, tokens_each: int) -> None:
    """Tokens and origins of so many documents, a line each; no token is written (sparse files)."""
    index = TokenIndex(
        stamp="",
        tokenizer="t" * 64,
        dtype="<u2",
        fingerprint="f" * 64,
        documents=n_documents,
        held_out_documents=0,
        train_tokens=tokens_each * n_documents,
        held_out_tokens=0,
    )
    folder.mkdir()
    for name, size in zip(index.file_names, (2 * index.train_tokens, 0), strict=True):
        with (folder / name).open("wb") as file:
            file.truncate(size)
    with origins_path(folder, index).open("wb") as file:
        for begin in range(0, n_documents, 1 << 20):
            numbers = np.arange(begin, min(begin + (1 << 20), n_documents), dtype="<u8") + 1
            np.stack([tokens_each * numbers, packed(0, 0) + numbers], axis=1).tofile(file)
    files = (FileFacts(name="web.jsonl", size=1, mtime_ns=1),)
    write_index(folder, index, SourceFiles(stamp="", files=files))


def test_a_row_of_many_documents_is_found_where_it_is(tmp_path: Path) -> None:
    generated(tmp_path / "to", 100_000, 100)
    found = origin_of(tmp_path / "to", 3_128, context=32)  # tokens 100,096 to 100,128
    assert [(o.file, o.document, o.row, o.begin, o.end) for o in found] == [
        ("web.jsonl", 1_001, 1_001, 0, 4),
        ("web.jsonl", 1_002, 1_002, 4, 33),
    ]

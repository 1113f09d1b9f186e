"""Text to durable tokens, beside the tokenizer alone and what others do, on the same cores."""

import gzip
import os
import shutil
import subprocess
import sysconfig
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from tests.benchmarks.measure import show, side_by_side
from trainer.proxy.preparation.prepare import Preparation
from trainer.proxy.progress import ignore
from trainer.proxy.tokenizer import TextTokenizer, make_tokenizer
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.sources.text_rules import PIECE_CHARACTERS_PER_TOKEN, TextRules

_MEGABYTES = 40
_LEARNED_MEGABYTES = 10
_VOCABULARY = 32_768
_CONTEXT = 1024
_AT_ONCE = 1_000
_N_FILES = 4

_DATASETS = """
import sys
from datasets import disable_progress_bars, load_dataset
from tokenizers import Tokenizer
disable_progress_bars()
text, tokenizer, out, cores = sys.argv[1:]
tokenizer = Tokenizer.from_file(tokenizer)
def encode(batch):
    encoded = tokenizer.encode_batch_fast(batch["text"], add_special_tokens=False)
    return {"ids": [each.ids for each in encoded]}
made = load_dataset("json", data_files=text + "/*.jsonl", split="train", cache_dir=out)
made = made.map(encode, batched=True, num_proc=int(cores), remove_columns=["text"])
made.set_format("numpy")
print(sum(len(ids) for ids in made["ids"]), sum(int(ids.sum()) for ids in made["ids"]))
"""
_DATATROVE = """
import sys
from pathlib import Path
import numpy as np
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer
text, tokenizer, out, cores = sys.argv[1:]
if __name__ == "__main__":
    encode = DocumentTokenizer(
        out, tokenizer_name_or_path=tokenizer, eos_token=None, shuffle_documents=False,
        save_index=False,
    )
    LocalPipelineExecutor(
        [JsonlReader(text, glob_pattern="*.jsonl"), encode], tasks=int(cores), workers=int(cores),
        logging_dir=out + "/log", skip_completed=False,
    ).run()
    tokens = [np.fromfile(path, "<u2").astype(np.int64) for path in Path(out).rglob("*.ds")]
    print(sum(map(len, tokens)), sum(int(each.sum()) for each in tokens))
"""
"""For the Python of an environment that has them (`--peers`): each prints how many ids it made,
and their sum."""


def preparing(options: Namespace) -> None:
    """MB/s of JSON lines to durable tokens, beside `tokenizers` alone, `datasets` and datatrove."""
    folder = options.directory / "preparing"
    shutil.rmtree(folder, ignore_errors=True)
    texts = list(_texts())
    n_bytes = sum(len(text.encode()) for text in texts)
    paths = _write(folder, texts)
    tokenizer = _tokenizer(folder, paths["JSON lines"])
    reference = partial(_encode_alone, tokenizer, texts)
    ids = {"tokenizers alone": reference(), "JSON lines": _told(tokenizer.encode(texts))}
    calls: dict[str, Callable[[], object]] = {"tokenizers alone": reference}
    for name, path in paths.items():
        calls[name] = partial(_prepare, folder / "tokens", path, tokenizer)
    for name, script in (("datasets", _DATASETS), ("datatrove", _DATATROVE)):
        if options.peers:
            peer = partial(_peer, options.peers, script, folder, paths["JSON lines"])
            ids[name] = peer()
            calls[name] = peer
    times = side_by_side(calls, options.repeats)
    floor = times["tokenizers alone"].median
    rows = [
        [
            name,
            *taken.cells(),
            f"{n_bytes / 1e6 / taken.median:.1f}",
            f"{floor / taken.median:.2f}",
            f"{taken.median / times['JSON lines'].median:.2f}",
            _sameness(ids.get(name), ids["tokenizers alone"]),
        ]
        for name, taken in times.items()
    ]
    header = ["what", "median", "least", "most", "MB/s", "× tokenizers", "time ÷ ours", "same ids"]
    cores = len(os.sched_getaffinity(0))
    show(
        f"{n_bytes / 1e6:.0f} MB of text, {cores} cores, {tokenizer.entries:,} entries",
        header,
        rows,
    )
    shutil.rmtree(folder)


def _sameness(found: tuple[int, int] | None, wanted: tuple[int, int]) -> str:
    return "" if found is None else "yes" if found == wanted else f"no: {found} not {wanted}"


def _texts() -> Iterator[str]:
    """Python files of this installation, the largest packages included, each a document."""
    left = _MEGABYTES * 1_000_000
    for path in sorted(Path(sysconfig.get_path("purelib")).rglob("*.py")):
        text = path.read_text(errors="replace")
        if text.strip():
            left -= len(text.encode())
            yield text
        if left < 0:
            return


def _write(folder: Path, texts: list[str]) -> Mapping[str, Path]:
    """The same text in each kind of file, several of each."""
    kinds = {
        name: folder / name
        for name in ("JSON lines", "JSON lines, gzip", "JSON lines, zstd", "Parquet, zstd")
    }
    for path in kinds.values():
        path.mkdir(parents=True)
    for number in range(_N_FILES):
        part = texts[number::_N_FILES]
        lines = b"".join(orjson.dumps({"text": text}) + b"\n" for text in part)
        (kinds["JSON lines"] / f"{number}.jsonl").write_bytes(lines)
        (kinds["JSON lines, gzip"] / f"{number}.jsonl.gz").write_bytes(gzip.compress(lines, 6))
        (kinds["JSON lines, zstd"] / f"{number}.jsonl.zst").write_bytes(zstandard.compress(lines))
        table = pa.table({"text": part})
        path = kinds["Parquet, zstd"] / f"{number}.parquet"
        pq.write_table(table, path, compression="zstd", row_group_size=2_000)
    return kinds


_RULES = TextRules(
    piece_characters=PIECE_CHARACTERS_PER_TOKEN * _CONTEXT,
    held_out_tokens=10_000_000,
    trusts_names=False,
    reads_arrays=True,
    refuses_web_archives=True,
)
"""Of a new run."""


def _tokenizer(folder: Path, lines: Path) -> TextTokenizer:
    few = folder / "few.jsonl"
    data = (lines / "0.jsonl").read_bytes()[: _LEARNED_MEGABYTES * 1_000_000]
    few.write_bytes(data.rpartition(b"\n")[0])
    return make_tokenizer(
        folder / "tokenizer.json",
        {"text": SourceSettings(path=str(few))},
        base=folder,
        vocab_size=_VOCABULARY,
        progress=ignore,
        rules=_RULES,
    )


def _prepare(folder: Path, path: Path, tokenizer: TextTokenizer) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    Preparation(
        name="text",
        source=SourceSettings(path=str(path)),
        base=folder,
        folder=folder,
        rules=_RULES,
        is_checked=True,
        tokenizer=tokenizer,
        dtype="<u2",
        progress=ignore,
    ).run()


def _encode_alone(tokenizer: TextTokenizer, texts: list[str]) -> tuple[int, int]:
    """By `tokenizers` on all cores, as strings that are ready: how many ids, and their sum."""
    found = [
        _told(tokenizer.encode_by_reference(texts[start : start + _AT_ONCE]))
        for start in range(0, len(texts), _AT_ONCE)
    ]
    return sum(n for n, _ in found), sum(ids for _, ids in found)


def _told(ids: list[list[int]]) -> tuple[int, int]:
    return sum(map(len, ids)), sum(map(sum, ids))


def _peer(python: Path, script: str, folder: Path, lines: Path) -> tuple[int, int]:
    out = folder / "peer"
    shutil.rmtree(out, ignore_errors=True)
    cores = str(len(os.sched_getaffinity(0)))
    file = folder / "peer.py"
    file.write_text(script)
    done = subprocess.run(
        [python, file, lines, folder / "tokenizer.json", out, cores],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HF_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "1"},
    )
    n_ids, of_ids = done.stdout.split()[-2:]
    return int(n_ids), int(of_ids)

"""The same bytes by any number of processes and after any kill; nothing half-made is kept."""

import errno
import hashlib
import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Callable
from multiprocessing import resource_tracker
from pathlib import Path
from types import SimpleNamespace

import orjson
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from tests.rundir.sources.test_pieces import prose
from trainer.proxy.fast_encoding import FastEncoder
from trainer.proxy.preparation import units
from trainer.proxy.preparation.prepare import Preparation
from trainer.proxy.progress import Progress, ignore
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.outcomes import SaveError, SourceError
from trainer.rundir.sources.documents import fingerprint_of, read_documents
from trainer.rundir.sources.left_out import LeftOut
from trainer.rundir.sources.matching import never
from trainer.rundir.sources.prepared import TokenIndex
from trainer.rundir.sources.text_rules import TextRules

Prepare = Callable[..., TokenIndex]
RULES = TextRules(piece_characters=64, held_out_tokens=600)
"""Of the folder's text 1 % is more."""


@pytest.fixture(autouse=True)
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units of 2,000 bytes: a few kilobytes are many of them."""
    monkeypatch.setattr(units, "UNIT_BYTES", 2_000)
    monkeypatch.setattr(units, "_SMALL_FILE_BYTES", 500)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A folder with JSON lines large and small, a text of several parts, and odd lines."""
    folder = tmp_path / "text"
    folder.mkdir()
    lines = [orjson.dumps({"text": prose(seed, 40)}) for seed in range(60)]
    lines[20] = b'{"body": "odd"}'
    lines[41] = b'"odd"'
    (folder / "a.jsonl").write_bytes(b"\n".join(lines) + b"\n\n")
    (folder / "b.jsonl").write_bytes(orjson.dumps({"text": "small"}))
    (folder / "c.txt").write_text(prose(99, 20_000))
    return folder


@pytest.fixture
def prepared(tmp_path: Path, text: Path, tokenizer: TextTokenizer) -> Prepare:
    """Prepare the folder."""

    def call(
        to: str, n_workers: int = 1, progress: Progress = ignore, wanted: str = ""
    ) -> TokenIndex:
        index, _ = Preparation(
            name="mixed",
            source=SourceSettings(path=str(text), max_odd_share=0.1),
            base=tmp_path,
            folder=tmp_path / to,
            rules=RULES,
            is_checked=True,
            tokenizer=tokenizer,
            dtype="<u2",
            progress=progress,
            wanted=wanted,
            n_workers=n_workers,
        ).run()
        return index

    return call


def bytes_of(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def test_any_number_of_processes_gives_the_same_bytes(tmp_path: Path, prepared: Prepare) -> None:
    alone = prepared("one")
    assert alone == prepared("three", n_workers=3)
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "three")
    assert set(bytes_of(tmp_path / "one")) == {*alone.file_names, alone.origins_name}
    assert alone.held_out_tokens <= RULES.held_out_tokens < alone.set_aside_tokens


def test_units_are_the_documents_of_the_source(
    tmp_path: Path, text: Path, prepared: Prepare
) -> None:
    source = SourceSettings(path=str(text), max_odd_share=0.1)
    documents = list(read_documents(source, tmp_path, rules=RULES))
    index = prepared("to")
    assert index.documents == len(documents)
    assert index.fingerprint == fingerprint_of(documents)
    assert index.text_bytes == sum(len(document.encode()) for document in documents)


TEXTS = [prose(seed, 40) for seed in range(30)]
TEXTS_WITH_ODD = pa.table({"n": list(range(31)), "text": [*TEXTS[:20], None, *TEXTS[20:]]})


def _write_parquet(path: Path) -> None:
    pyarrow.parquet.write_table(TEXTS_WITH_ODD, path, row_group_size=4, compression="zstd")


def _write_arrow(path: Path) -> None:
    with pa.ipc.new_file(path, TEXTS_WITH_ODD.schema) as writer:
        writer.write_table(TEXTS_WITH_ODD, max_chunksize=4)


def _write_stream(path: Path) -> None:
    with pa.ipc.new_stream(path, TEXTS_WITH_ODD.schema) as writer:
        writer.write_table(TEXTS_WITH_ODD, max_chunksize=4)


@pytest.mark.parametrize("write", [_write_parquet, _write_arrow, _write_stream])
def test_tables_by_their_groups_over_processes_are_the_documents_of_the_file(
    tmp_path: Path,
    text: Path,
    prepared: Prepare,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Path], None],
) -> None:
    for path in text.iterdir():
        path.unlink()
    write(text / "table")
    source = SourceSettings(path=str(text))
    given = units.units_of(source, tmp_path, RULES, LeftOut(1.0), check=never, is_checked=True)
    assert sum(isinstance(unit, units.Groups) for unit in given) > 3
    index = prepared("one")
    assert index == prepared("three", n_workers=3)
    assert index.fingerprint == fingerprint_of(TEXTS)
    assert "row 21: 'text' is None" in index.left_out
    monkeypatch.setattr(units, "LARGEST_GROUP_BYTES", 0)
    assert index == prepared("here")
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "three") == bytes_of(tmp_path / "here")


def test_odd_lines_of_a_file_in_pieces_are_named_by_their_line(prepared: Prepare) -> None:
    told = prepared("to").left_out
    assert "2 records without a text" in told
    assert "a.jsonl, line 21: no field 'text'" in told
    assert "a.jsonl, line 42: an object" in told
    assert prepared("again", n_workers=2).left_out == told


@pytest.mark.parametrize(("n_workers", "times"), [(1, 100), (2, 2)])
def test_giving_up_after_units_ends_in_the_same_bytes(
    tmp_path: Path, prepared: Prepare, n_workers: int, times: int
) -> None:
    prepared("straight")
    done = [0.0]

    def give_up(fraction: float, what: str) -> None:
        if what.startswith("encoding") and 1.0 > fraction > done[-1] and len(done) <= times:
            done.append(fraction)
            raise InterruptedError

    while True:
        try:
            prepared("broken", n_workers=n_workers, progress=give_up)
        except InterruptedError:
            continue
        break
    assert len(done) > min(times, 10)
    assert bytes_of(tmp_path / "broken") == bytes_of(tmp_path / "straight")


def stop_half_way(prepared: Prepare, to: str) -> None:
    """As an operator does who waits no longer."""

    def give_up(fraction: float, what: str) -> None:
        if what.startswith("encoding") and fraction > 0.5:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        prepared(to, progress=give_up)


@pytest.mark.parametrize("file", ["train", "held_out", "documents", "journal"])
@pytest.mark.parametrize("torn", ["longer", "shorter"])
def test_torn_parts_end_in_the_same_bytes(
    tmp_path: Path, prepared: Prepare, file: str, torn: str
) -> None:
    prepared("straight")
    stop_half_way(prepared, "broken")
    path = tmp_path / "broken" / f"preparing.{file}.partial"
    size = path.stat().st_size
    if torn == "longer":
        path.write_bytes(path.read_bytes() + b'{"torn')
    else:
        os.truncate(path, max(size - 7, 0))
    prepared("broken")
    assert bytes_of(tmp_path / "broken") == bytes_of(tmp_path / "straight")


def test_parts_that_a_copy_by_hard_links_has_too_are_not_written_to(
    tmp_path: Path, prepared: Prepare
) -> None:
    prepared("straight")
    stop_half_way(prepared, "broken")
    shutil.copytree(tmp_path / "broken", tmp_path / "copy", copy_function=os.link)
    before = bytes_of(tmp_path / "copy")
    prepared("broken")
    assert bytes_of(tmp_path / "copy") == before
    prepared("copy")
    for name in ("broken", "copy"):
        assert bytes_of(tmp_path / name) == bytes_of(tmp_path / "straight")


def _prepare_and_die(call: Callable[[], object], after: int) -> None:
    seen = 0

    def sync(fd: int) -> None:
        nonlocal seen
        seen += 1
        if seen == after:
            os.kill(os.getpid(), signal.SIGKILL)

    os.fdatasync = sync  # type: ignore[assignment]
    call()


@pytest.mark.parametrize("after", [1, 2, 6, 13, 29, 40])
def test_preparation_killed_at_a_sync_ends_in_the_same_bytes(
    tmp_path: Path, prepared: Prepare, after: int
) -> None:
    prepared("straight")
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_prepare_and_die, args=(lambda: prepared("broken"), after))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    prepared("broken")
    assert bytes_of(tmp_path / "broken") == bytes_of(tmp_path / "straight")


def test_parts_of_another_text_are_not_gone_on_with(
    tmp_path: Path, text: Path, prepared: Prepare
) -> None:
    stop_half_way(prepared, "broken")
    (text / "b.jsonl").write_bytes(orjson.dumps({"text": "another"}))
    prepared("straight")
    prepared("broken")
    assert bytes_of(tmp_path / "broken") == bytes_of(tmp_path / "straight")


def test_a_worker_that_is_killed_is_told_and_what_is_done_stays(
    tmp_path: Path, prepared: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared("straight")
    killed: list[int] = []

    def kill(fraction: float, what: str) -> None:
        if fraction > 0.3 and not killed:
            victim = multiprocessing.active_children()[0]
            killed.append(victim.pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    with pytest.raises(SourceError, match=r"that encodes text ended with -9 .*start again"):
        prepared("broken", n_workers=2, progress=kill)
    assert killed
    assert not multiprocessing.active_children(), "the other worker was left"
    prepared("broken", n_workers=2)
    assert bytes_of(tmp_path / "broken") == bytes_of(tmp_path / "straight")


def test_workers_that_end_before_they_read_their_arguments_are_told_and_not_waited_for(
    prepared: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn = multiprocessing.get_context("spawn")
    python = sys.executable
    # more than a pipe holds, and nobody reads it
    monkeypatch.setattr(TextTokenizer, "__reduce__", lambda _: (bytes, (bytes(200_000),)))
    resource_tracker.ensure_running()  # else it would be such a one, too
    spawn.set_executable("/bin/false")
    try:
        with pytest.raises(SourceError, match="that encodes text ended with 1 "):
            prepared("broken", n_workers=2)
    finally:
        spawn.set_executable(python)


def test_tokens_that_will_not_fit_are_refused_at_the_first_unit(
    tmp_path: Path, prepared: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=1, f_frsize=4096))
        with pytest.raises(SaveError, match="bytes more, and 4,096 are free: make room"):
            prepared("to")
    journal = (tmp_path / "to" / "preparing.journal.partial").read_bytes()
    assert journal.count(b"\n") == 2
    assert prepared("to") == prepared("straight")
    assert bytes_of(tmp_path / "to") == bytes_of(tmp_path / "straight")


def test_a_full_disk_on_the_way_costs_the_unit_under_way(
    tmp_path: Path, prepared: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fdatasync = os.fdatasync

    def full(fd: int) -> None:
        synced.append(fd)
        if len(synced) == 15:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fdatasync(fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", full)
        with pytest.raises(OSError, match="No space left"):
            prepared("to")
    journal = (tmp_path / "to" / "preparing.journal.partial").read_bytes()
    assert journal.count(b"\n") == 1 + (15 - 2) // 4
    assert prepared("to") == prepared("straight")
    assert bytes_of(tmp_path / "to") == bytes_of(tmp_path / "straight")


def test_text_that_is_not_the_wanted_one_leaves_nothing(tmp_path: Path, prepared: Prepare) -> None:
    with pytest.raises(SourceError, match="is not the text that was trained on"):
        prepared("to", wanted="0" * 16)
    assert not list((tmp_path / "to").iterdir())


def test_files_that_change_while_they_are_read_are_read_again(
    tmp_path: Path, text: Path, prepared: Prepare
) -> None:
    written: list[float] = []

    def write(fraction: float, what: str) -> None:
        if what.startswith("encoding") and fraction > 0.5 and len(written) < 2:
            written.append(fraction)
            (text / "b.jsonl").write_bytes(orjson.dumps({"text": f"written {len(written)} times"}))

    index = prepared("to", progress=write)
    assert len(written) == 2
    prepared("straight")
    assert bytes_of(tmp_path / "to") == bytes_of(tmp_path / "straight")
    assert index.documents > 60


def test_a_worker_loads_no_torch() -> None:
    code = "import sys, trainer.proxy.preparation.workers; sys.exit('torch' in sys.modules)"
    assert os.spawnl(os.P_WAIT, sys.executable, sys.executable, "-c", code) == 0


def test_fast_encoder_that_is_wrong_is_found_before_a_token_is_written(
    tmp_path: Path,
    prepared: Prepare,
    tokenizer: TextTokenizer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokenizer, "was_refuted", True)
    prepared("by the reference")
    monkeypatch.setattr(tokenizer, "was_refuted", False)
    prepared("fast")
    monkeypatch.setattr(FastEncoder, "encode", lambda _, documents, n: [[7] for _ in documents])
    prepared("wrong")
    assert tokenizer.was_refuted
    wanted = bytes_of(tmp_path / "by the reference")
    assert bytes_of(tmp_path / "fast") == wanted
    assert bytes_of(tmp_path / "wrong") == wanted

"""Several machines make, byte for byte, what one makes; after kills, too."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from tests.proxy.preparation.test_prepare import bytes_of
from tests.rundir.sources.test_pieces import prose
from trainer.proxy.preparation import units
from trainer.proxy.preparation.prepare import Preparation
from trainer.proxy.preparation.shares import Share
from trainer.proxy.progress import ignore
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.sources.text_rules import TextRules

Make = Callable[[str], Preparation]


@pytest.fixture
def make(tmp_path: Path, tokenizer: TextTokenizer, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A folder with JSON lines in pieces, small files that are read by all, and odd lines."""
    monkeypatch.setattr(units, "UNIT_BYTES", 2_000)
    monkeypatch.setattr(units, "_SMALL_FILE_BYTES", 500)
    folder = tmp_path / "text"
    folder.mkdir()
    lines = [orjson.dumps({"text": prose(seed, 40)}) for seed in range(60)]
    lines[41] = b'"odd"'
    (folder / "a.jsonl").write_bytes(b"\n".join(lines))
    (folder / "b.jsonl").write_bytes(b'{"text": "small"}\n{"odd": 1}\n')
    (folder / "c.txt").write_text(prose(99, 8_000))

    def call(to: str) -> Preparation:
        return Preparation(
            name="mixed",
            source=SourceSettings(path="text", max_odd_share=0.1),
            base=tmp_path,
            folder=tmp_path / to,
            rules=TextRules(piece_characters=64, drops_duplicates=True),
            is_checked=True,
            tokenizer=tokenizer,
            dtype="<u2",
            progress=ignore,
            n_workers=1,
        )

    return call


def _encode_or_die(preparation: Preparation, share: Share, die_at_sync: int) -> None:
    seen = 0

    def sync(fd: int) -> None:
        nonlocal seen
        seen += 1
        if seen == die_at_sync:
            os.kill(os.getpid(), signal.SIGKILL)

    os.fdatasync = sync  # type: ignore[assignment]
    preparation.run_share(share)


@pytest.mark.parametrize("die_at_sync", [0, 9])
def test_shares_of_processes_side_by_side_end_in_the_bytes_of_one(
    tmp_path: Path, make: Make, die_at_sync: int
) -> None:
    straight, _ = make("straight").run()
    shares = [Share(number, 3) for number in (1, 2, 3)]
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=_encode_or_die, args=(make("shared"), share, die_at_sync))
        for share in shares
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    if die_at_sync:
        assert {process.exitcode for process in processes} == {-signal.SIGKILL}
        assert make("shared").missing(3) == [1, 2, 3]
        for share in shares:
            make("shared").run_share(share)
    assert make("shared").missing(3) == []
    joined, _ = make("shared").run()
    assert joined == straight
    assert bytes_of(tmp_path / "shared") == bytes_of(tmp_path / "straight")


def test_without_all_shares_it_is_prepared_as_if_there_were_none(
    tmp_path: Path, make: Make
) -> None:
    make("straight").run()
    make("shared").run_share(Share(2, 2))
    assert make("shared").missing(2) == [1]
    make("shared").run()
    assert bytes_of(tmp_path / "shared") == bytes_of(tmp_path / "straight")


def test_a_join_that_is_killed_ends_in_the_same_bytes(tmp_path: Path, make: Make) -> None:
    make("straight").run()
    for number in (1, 2):
        make("shared").run_share(Share(number, 2))
    context = multiprocessing.get_context("fork")

    def join() -> None:
        seen = 0

        def sync(fd: int) -> None:
            nonlocal seen
            seen += 1
            if seen == 30:
                os.kill(os.getpid(), signal.SIGKILL)

        os.fdatasync = sync  # type: ignore[assignment]
        make("shared").run()

    process = context.Process(target=join)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    make("shared").run()
    assert bytes_of(tmp_path / "shared") == bytes_of(tmp_path / "straight")

"""`verify` and `thin` on a real run: what is well, what is not, and steps trained again."""

import os
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from console.cli import main
from tests.tiny import Crashed, ask_checkpoint, crash, make_tiny_run, strict_json, train_here
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import Exit, HistoryError
from trainer.rundir.records.record_file import RecordArray
from trainer.rundir.state import read_state, write_state
from trainer.rundir.verification import verify


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    run = make_tiny_run(tmp_path / "run", every=4)
    with pytest.raises(Crashed):
        train_here(run, {6: ask_checkpoint, 11: crash})
    train_here(run)
    return run


def wrong(run: RunDirectory) -> list[str]:
    return [f"{finding.part}: {finding.what}" for finding in verify(run) if not finding.ok]


def test_nothing_is_wrong_with_a_run_that_was_trained(run: RunDirectory) -> None:
    assert wrong(run) == []
    parts = [finding.part for finding in verify(run)]
    assert parts.count("checkpoint") == 5
    assert {"settings", "audits", "history", "state"} <= set(parts)


def flip_byte(run: RunDirectory) -> None:
    path = run.path / "step_000006.bin"
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)


def plant_nan(run: RunDirectory) -> None:
    path = run.path / "step_000006.bin"
    data = path.read_bytes()
    path.write_bytes(data[:1008] + b"\x00\x00\xc0\x7f" + data[1012:])


def cut_checkpoint(run: RunDirectory) -> None:
    os.truncate(run.path / "step_000008.bin", 1000)


def lose_record(run: RunDirectory) -> None:
    lines = run.loss.read_bytes().splitlines(keepends=True)
    run.loss.write_bytes(b"".join(lines[:5] + lines[6:]))


def unname_loss(run: RunDirectory) -> None:
    lines = run.loss.read_bytes().split(b"\n")
    lines[5] = b'{"step":5,"loss":null,"nonfinite":5},'
    run.loss.write_bytes(b"\n".join(lines))


def lose_tail(run: RunDirectory) -> None:
    lines = run.loss.read_bytes().splitlines()
    run.loss.write_bytes(b"\n".join(lines[:-2]).rstrip(b",") + b"\n]\n")


def tear_history(run: RunDirectory) -> None:
    os.truncate(run.loss, run.loss.stat().st_size - 20)


def tear_samples(run: RunDirectory) -> None:
    os.truncate(run.samples, run.samples.stat().st_size - 20)


def lose_samples(run: RunDirectory) -> None:
    run.samples.unlink()


def claim_fork(run: RunDirectory) -> None:
    run.fork.write_text('{"parent": "x", "step": 4, "sha256": "0"}')


def advance_state(run: RunDirectory) -> None:
    run.state.write_text(run.state.read_text().replace('"step": 16', '"step": 99', 1))


@pytest.mark.parametrize(
    ("harm", "named"),
    [
        (flip_byte, "checkpoint: step_000006.bin: sha256"),
        (plant_nan, "checkpoint: step_000006.bin: 1 values are not finite"),
        (cut_checkpoint, "checkpoint: step_000008.bin: 1,000 bytes"),
        (lose_record, "history: no record of step 5 (1 missing)"),
        (unname_loss, "history: step 5: a loss that is null and not named"),
        (lose_tail, "history: the history ends at step 15, but there is a checkpoint of step 16"),
        (tear_history, "history: .loss.json: its end is torn"),
        (tear_samples, "audits: .samples.json: its end is torn"),
        (lose_samples, "audits: .samples.json: no audit of step_000004.bin (4 missing)"),
        (claim_fork, "fork: step_000004.bin is not the parent's"),
        (advance_state, "state: .state.json: says step 99"),
    ],
)
def test_each_harm_is_found_and_named(
    harm: Callable[[RunDirectory], None], named: str, run: RunDirectory
) -> None:
    harm(run)
    assert [what for what in wrong(run) if what.startswith(named)]
    assert main(["verify", str(run.path)]) == 1


@pytest.mark.parametrize("name", [".loss.json", ".samples.json"])
def test_doing_what_the_refusal_says_mends_a_file_that_a_tool_laid_out_otherwise(
    run: RunDirectory, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run.path / name
    whole = path.read_bytes()
    lines = b"".join(orjson.dumps(record) + b"\n" for record in orjson.loads(whole))
    path.write_bytes(lines)
    with pytest.raises(HistoryError, match="is JSON lines, not an array") as refusal:
        train_here(run)
    advice = shlex.split(str(refusal.value).split("`")[1])
    assert advice == ["andrea-console", "verify", str(run.path), "--mend"]
    assert main(advice[1:]) == 0
    assert path.read_bytes() == whole
    assert path.with_name(f"{name}.unmended-1").read_bytes() == lines
    assert "records put right; as it was:" in capsys.readouterr().err
    train_here(run)


def test_nothing_is_mended_under_a_live_trainer(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = b"\n".join(map(orjson.dumps, orjson.loads(run.loss.read_bytes())))
    run.loss.write_bytes(lines)
    lock = TrainerLock(run.lock)
    try:
        assert main(["verify", str(run.path), "--mend"]) == Exit.LOCKED
    finally:
        lock.release()
    assert "another trainer holds this run" in capsys.readouterr().err
    assert run.loss.read_bytes() == lines


def train_one_more(run: RunDirectory) -> None:
    losses = RecordArray(run.loss)
    step = losses.records[-1]["step"] + 1
    losses.append({**losses.records[-1], "step": step})
    losses.close()
    state = read_state(run.state)
    assert state is not None
    write_state(run.state, replace(state, step=step))


def append_by_half(run: RunDirectory) -> None:
    """What a reader can see of the one write of an append."""
    data = run.loss.read_bytes()
    run.loss.write_bytes(data.removesuffix(b"\n]\n") + b',\n{"step":')


def thin_one(run: RunDirectory) -> None:
    (run.path / "step_000008.bin").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("part", "happens"),
    [("audits", thin_one), ("history", append_by_half), ("history", train_one_more)],
)
def test_what_a_live_trainer_does_meanwhile_is_nothing_wrong(
    part: str, happens: Callable[[RunDirectory], None], run: RunDirectory
) -> None:
    told = []
    for finding in verify(run):
        told.append(finding)
        if finding.part == part:
            happens(run)
    assert [finding.what for finding in told if not finding.ok] == []
    assert told[-1].part == "tokens"


def test_steps_trained_again_give_the_same_records_and_checkpoint(
    run: RunDirectory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    before = sorted(path.name for path in run.path.parent.iterdir())
    assert main(["verify", str(run.path), "--json", "--replay", "7..10"]) == 0
    report = orjson.loads(capsys.readouterr().out)
    assert [f["what"] for f in report["findings"] if f["part"] == "replay"] == [
        "steps 7 to 10 trained again from step 6: every record the same",
        "step_000008.bin made again: the same bytes",
        "step_000012.bin made again: the same bytes",
    ]
    assert sorted(path.name for path in run.path.parent.iterdir()) == before


def test_replay_finds_a_record_that_no_training_gives(
    run: RunDirectory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    loss = strict_json(run.loss)[1]["loss"]
    text = run.loss.read_bytes().replace(f'"loss":{loss!r}'.encode(), b'"loss":0.5', 1)
    run.loss.write_bytes(text)
    assert main(["verify", str(run.path), "--replay", "1..3"]) == 1
    assert "1 differ, the first is step 2" in capsys.readouterr().out


def test_replay_compares_what_the_record_of_an_earlier_version_tells(
    run: RunDirectory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    reward = strict_json(run.loss)[1]["reward"]
    fewer = run.loss.read_bytes().replace(f'"reward":{reward!r},'.encode(), b"", 1)
    run.loss.write_bytes(fewer)
    assert main(["verify", str(run.path), "--replay", "1..3"]) == 0
    assert "every record the same" in capsys.readouterr().out


def test_thin_shows_first_and_deletes_only_when_told(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["thin", str(run.path), "--keep-last", "2", "--keep-every", "8"]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert len(list_checkpoints(run.path, None).checkpoints) == 5
    going = {Path(line).name for line in shown.out.splitlines()}
    assert main([*arguments, "--yes"]) == 0
    left = {found.path.name for found in list_checkpoints(run.path, None).checkpoints}
    assert going.isdisjoint(left)
    assert {"step_000008.bin", "step_000012.bin", "step_000016.bin"} <= left
    assert len(going) + len(left) == 5
    assert '"action":"thin"' in run.actions.read_text()


def test_thin_of_a_run_that_keeps_all_asks_for_a_number(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["thin", str(run.path)]) == 2
    assert "--keep-last N" in capsys.readouterr().err

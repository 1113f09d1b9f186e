"""`andrea-console text`: what a step was fed, drawn anew, is what it was fed."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from console.cli import main as console_main
from console.verbs.text import as_lines
from tests.integration.test_pivot import ask_pivot, move_files
from tests.tiny import Crashed, ask_stop, crash, make_tiny_run, train_here
from trainer.batch_text import Question, batches
from trainer.proxy.feed import Feed, Pull
from trainer.proxy.past_batches import PastBatches
from trainer.rundir.batch import batch_of
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, RunError

Fed = dict[int, Pull]


@pytest.fixture(scope="module")
def fed(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunDirectory, Fed]:
    """A run that crashed, was resumed, pivoted, and stopped at step 20; what each step was fed."""
    run = make_tiny_run(tmp_path_factory.mktemp("fed") / "run", total_steps=24, every=4, rules=4)
    given: Fed = {}
    pull = Feed.pull

    def noted(feed: Feed, step: int) -> Pull:
        given[step] = pull(feed, step)
        return given[step]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Feed, "pull", noted)
        with pytest.raises(Crashed):
            train_here(run, {7: crash})
        train_here(run, {9: ask_pivot()})
        move_files(run)
        train_here(run, {20: ask_stop})
    return run, given


def asked(run: RunDirectory, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the verb prints."""
    capsys.readouterr()
    assert console_main(["text", str(run.path), *arguments]) == 0
    return capsys.readouterr().out


def test_rows_drawn_anew_are_those_of_each_step_through_crash_resume_and_pivot(
    fed: tuple[RunDirectory, Fed],
) -> None:
    run, given = fed
    past = PastBatches(run)
    assert list(past.steps) == list(range(1, 21)) == sorted(given)
    assert {past.draw(step).record.phase for step in past.steps} == {1, 2}
    for step in past.steps:
        draw = past.draw(step)
        assert draw.record.arm == given[step].arm
        assert np.array_equal(draw.tokens(), given[step].rows), step


def test_losses_prove_the_rows_where_the_checkpoint_is_of_the_step_before(
    fed: tuple[RunDirectory, Fed],
) -> None:
    run, _ = fed
    proofs = {}
    for step in (1, 5, 6, 13, 20):
        batch = list(batches(Question(run=run, step=step, with_losses=True)))[-1]
        proofs[step] = batch.is_proven, batch.before, batch.after
    assert proofs == {
        1: (None, None, 4),
        5: (True, 4, 8),
        6: (None, 4, 8),
        13: (True, 12, 16),  # the first of a phase
        20: (None, 16, 20),
    }


def test_other_tokens_than_were_trained_on_are_not_proven(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=8, every=4, rules=4)
    train_here(run)
    for path in run.tokens.glob("*/*.train.bin"):
        tokens = np.fromfile(path, "<u2")
        tokens[::7] = tokens[1::7][: len(tokens[::7])]
        path.write_bytes(tokens.tobytes())
    batch = list(batches(Question(run=run, step=5, with_losses=True)))[-1]
    assert batch.is_proven is False


def test_each_row_tells_the_lines_of_the_file_that_its_text_is_from(
    fed: tuple[RunDirectory, Fed],
) -> None:
    run, _ = fed
    (batch,) = batches(Question(run=run, step=3))
    for row in batch.rows:
        for document in row.documents:
            lines = Path(document.file).read_bytes().splitlines()
            assert document.text in orjson.loads(lines[document.row - 1])["text"]
    assert sum(len(row.documents) for row in batch.rows) >= len(batch.rows)


def test_the_row_that_cost_most_comes_first(
    fed: tuple[RunDirectory, Fed], capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = fed
    batch = batch_of(orjson.loads(asked(run, capsys, "--step", "5", "--losses", "--json")))
    losses = {row.row: row.loss_before or 0.0 for row in batch.rows}
    assert np.mean(list(losses.values())) == pytest.approx(batch.loss)
    lines = as_lines(run, batch, is_whole=False)
    assert lines[1].startswith("proven: ")
    shown = [int(line.split()[1]) for line in lines if line.startswith("row ")]
    assert shown == sorted(losses, key=lambda row: -losses[row])


@pytest.mark.parametrize(
    ("arguments", "steps"),
    [(["--around", "1"], [1, 2]), (["--around", "2"], [1, 2, 3]), ([], [1])],
)
def test_steps_around_it_are_those_that_there_are(
    fed: tuple[RunDirectory, Fed],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    steps: list[int],
) -> None:
    run, _ = fed
    lines = asked(run, capsys, "--step", "1", *arguments).splitlines()
    assert [int(line.split()[1].strip(",")) for line in lines if line.startswith("step ")] == steps


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--step", "21"], "step 21: the history has steps 1 to 20"),
        (["--step", "0"], "step 0: the history has steps 1 to 20"),
        (["--step", "3", "--rows", "3..9"], "row 5: the batch has rows 1 to 4"),
    ],
)
def test_what_there_is_not_is_refused_in_words(
    fed: tuple[RunDirectory, Fed],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    assert console_main(["text", str(fed[0].path), *arguments]) != 0
    assert words in capsys.readouterr().err


def test_tokens_that_are_gone_and_a_history_given_up_are_told(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=8, every=4, rules=4)
    train_here(run)
    records: list[dict[str, Any]] = orjson.loads(run.loss.read_bytes())
    lost = [{"step": 1, "lost": True}, *records[1:]]
    run.loss.write_bytes(b"[\n" + b",\n".join(map(orjson.dumps, lost)) + b"\n]\n")
    with pytest.raises(RunError, match="step 1 doesn't tell what it was fed"):
        list(batches(Question(run=run, step=1)))
    for path in run.tokens.glob("*/index.json"):
        path.unlink()
    with pytest.raises(RunError, match="tokens that were drawn from are gone"):
        list(batches(Question(run=run, step=2)))


def test_text_that_would_steer_the_terminal_is_spelled_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=8, every=8, rules=4, sources={"a": 40})
    file = tmp_path / "run-a.jsonl"
    file.write_bytes(
        b"".join(orjson.dumps({"text": f"\x1b[2J\x07 red {n}"}) + b"\n" for n in range(400))
    )
    assert train_here(run) is Exit.FINISHED
    out = asked(run, capsys, "--step", "1", "--rows", "1")
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "red" in out

"""Another run's history, followed beside the run that is shown."""

from pathlib import Path

import numpy as np
import pytest

from console.follow import other_run
from console.follow.other_run import OtherRun, open_other
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import RecordArray


def write(run: RunDirectory, steps: range) -> None:
    run.path.mkdir(exist_ok=True)
    array = RecordArray(run.loss)
    array.pending += [b'{"step":%d,"loss":%d,"ema":1,"tokens":100}' % (s, s) for s in steps]
    array.flush()
    array.close()


def test_what_is_appended_is_read_at_the_next_look(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "fork")
    write(run, range(1, 11))
    other = open_other(run.path)
    assert other.other.name == "fork"
    assert len(other.other.series) == 10
    write(run, range(11, 13))
    other.look()
    view = other.other.series
    assert view.step.tolist() == list(range(1, 13))
    assert view.loss[-1] == 12.0
    assert view.tokens.sum() == 1200
    assert np.isnan(view.lr).all()
    assert (view.arm == -1).all()


def test_a_long_history_is_read_in_another_process_and_followed_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_run, "WORTH_A_CHILD_BYTES", 1)
    run = RunDirectory(tmp_path / "fork")
    write(run, range(1, 1001))
    other = open_other(run.path)
    write(run, range(1001, 1003))
    other.look()
    assert other.other.series.step.tolist() == list(range(1, 1003))


def test_of_more_than_is_kept_every_second_step_stays_with_the_tokens_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_run, "MOST_RECORDS", 100)
    run = RunDirectory(tmp_path / "long")
    write(run, range(1, 191))
    other = open_other(run.path)
    write(run, range(191, 410))
    other.look()
    shown = other.other
    assert shown.stride == 8
    assert shown.series.step.tolist() == list(range(8, 410, 8))
    assert np.cumsum(shown.series.tokens).tolist() == [100 * step for step in shown.series.step]


def test_a_history_that_was_replaced_is_read_from_the_start(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "fork")
    write(run, range(1, 50))
    other = open_other(run.path)
    run.loss.unlink()
    write(run, range(1, 4))
    other.look()
    assert other.other.series.step.tolist() == [1, 2, 3]


def test_what_cannot_be_read_any_more_is_told(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "fork")
    write(run, range(1, 5))
    other = open_other(run.path)
    run.path.rename(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="moved or deleted"):
        other.look()
    write(run, range(1, 5))
    with pytest.raises(OSError, match="moved or deleted"):
        other.look()
    (tmp_path / "elsewhere").rename(run.path.with_name("back"))
    other = OtherRun(tmp_path / "back")
    (tmp_path / "back" / run.loss.name).unlink()
    with pytest.raises(FileNotFoundError):
        other.look()


@pytest.mark.parametrize("content", [None, b"no array", b""])
def test_a_directory_without_a_history_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / ".loss.json").write_bytes(content)
    with pytest.raises(OSError, match=r"No such file|is no history"):
        open_other(tmp_path)

"""A trainer's own field over the steps."""

from pathlib import Path

from console.view.field_history import FieldHistory
from trainer.rundir.records.record_file import RecordArray


def write(path: Path, *told: tuple[int, object]) -> None:
    array = RecordArray(path)
    for step, value in told:
        array.append({"step": step, "mfu": value})
    array.close()


def test_what_is_new_is_read_on_and_a_replayed_step_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "loss"
    history = FieldHistory(path, "mfu")
    history.look()
    assert len(history.points.step) == 0
    write(path, (1, 0.1), (2, None), (3, 0.3))
    history.look()
    before = history.points
    assert before.step.tolist() == [1, 3]
    history.look()
    assert history.points is before
    write(path, (3, 0.5), (4, 1))
    history.look()
    assert history.points.step.tolist() == [1, 3, 4]
    assert history.points.value.tolist() == [0.1, 0.5, 1.0]


def test_another_file_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "loss"
    write(path, (1, 0.1), (2, 0.2), (3, 0.3))
    history = FieldHistory(path, "mfu")
    history.look()
    path.unlink()
    write(path, (7, 0.7))
    history.look()
    assert history.points.step.tolist() == [7]

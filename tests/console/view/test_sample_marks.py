"""Another number of held-out rows makes val_loss another series, and that is marked."""

from console.view.run_view import Audit, Mark, MarkKind
from console.view.sample_marks import SampleMarks

START = Mark(step=1, kind=MarkKind.RESTART, label="start 2")


def _audits(*rows: int) -> tuple[Audit, ...]:
    steps = range(10, 10 * len(rows) + 1, 10)
    return tuple(
        Audit(step=step, checkpoint="", text="", prompt="", held_out_rows=n)
        for step, n in zip(steps, rows, strict=True)
    )


def test_an_audit_of_another_sample_is_marked_and_the_marks_stay_the_same_object() -> None:
    book, marks = SampleMarks(), (START,)
    assert book.join(marks, _audits(16, 16)) is marks
    joined = book.join(marks, _audits(16, 16, 64))
    new = Mark(step=30, kind=MarkKind.HELD_OUT, label="val_loss of 64 rows a source, before 16")
    assert joined == (START, new)
    assert book.join(marks, _audits(16, 16, 64, 64)) is joined

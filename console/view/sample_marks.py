"""Where `val_loss` begins to be of another sample of held-out rows, as marks on the chart."""

from itertools import pairwise

from console.view.run_view import Audit, Mark, MarkKind


class SampleMarks:
    """Joins them to the run's other marks."""

    def __init__(self) -> None:
        self._audits: tuple[Audit, ...] = ()
        self._own: tuple[Mark, ...] = ()
        self._joined: tuple[tuple[Mark, ...], tuple[Mark, ...], tuple[Mark, ...]] = ((), (), ())

    def join(self, marks: tuple[Mark, ...], audits: tuple[Audit, ...]) -> tuple[Mark, ...]:
        """All marks by ascending step; the same object until one changes."""
        if audits is not self._audits:
            self._audits, found = audits, sample_marks(audits)
            self._own = self._own if found == self._own else found
        if not self._own:
            return marks
        before, own_before, joined = self._joined
        if before is not marks or own_before is not self._own:
            joined = tuple(sorted((*marks, *self._own), key=lambda mark: mark.step))
            self._joined = (marks, self._own, joined)
        return joined


def sample_marks(audits: tuple[Audit, ...]) -> tuple[Mark, ...]:
    """One at each audit that takes another number of rows than the one before it."""
    return tuple(
        Mark(
            step=now.step,
            kind=MarkKind.HELD_OUT,
            label=f"val_loss of {now.held_out_rows:,} rows a source, before"
            f" {before.held_out_rows:,}",
        )
        for before, now in pairwise(audits)
        if before.held_out_rows != now.held_out_rows
    )

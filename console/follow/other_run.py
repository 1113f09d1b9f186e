"""Another run's history, read beside the run that is shown, and followed in bounded memory."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from console.chart.chart_data import Other, Points
from console.chart.series import Series, Values
from console.chart.track import Track
from console.follow.read_ahead import WORTH_A_CHILD_BYTES
from console.process.child import in_child
from console.view.audit_points import points_of
from console.view.audits import AuditBook
from console.view.cached_file import read_news
from trainer.rundir.layout import RunDirectory
from trainer.rundir.reading import reading
from trainer.rundir.records.loss_record import LossRecord, read_loss_records
from trainer.rundir.records.newest_records import opening
from trainer.rundir.records.record_file import RecordTail

MOST_RECORDS = 300_000
"""That are kept, some 25 MB; of a longer history every second step, every fourth, and so on."""
_SUMMED = ("tokens", "ms")
"""Of a step that is kept with those left out before it."""
_KEPT = ("loss", "ema", "t", "lr", "grad_norm", *_SUMMED)


class OtherRun:
    """Reads what is new at each look; one caller at a time, for it blocks."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet; raises `OSError` where there is no directory."""
        self.run = RunDirectory(path)
        self._identity = _identity(path)
        self._tail = RecordTail(self.run.loss, read_loss_records)
        self._audits = AuditBook(self.run)
        self._points: Mapping[Track, tuple[Points, ...]] = {}
        self._begin()

    def _begin(self) -> None:
        self._series = Series(_KEPT)
        self._stride = 1
        self._untold = dict.fromkeys(_SUMMED, 0.0)
        """Of the steps since the last one that was kept."""

    @property
    def other(self) -> Other:
        """The history as the last look left it."""
        view = self._series.view()
        return Other(name=self.run.name, series=view, stride=self._stride, points=self._points)

    def look(self) -> None:
        """Read all that is new; raises `OSError` whose text says why it can't be read any more."""
        try:
            identity = _identity(self.run.path)
        except FileNotFoundError:
            identity = None
        if identity != self._identity:
            raise OSError("it was moved or deleted")
        with reading(self.run.loss, follows_links=False):
            pass  # a tail doesn't tell of a file that can't be read
        has_more = True
        while has_more:
            news = read_news(self._tail)
            if news.is_restarted:
                self._begin()
            self._add([record for record in news.records if record.step is not None])
            has_more = news.has_more
        if self._audits.look():
            self._points = points_of(self._audits.all)

    def _add(self, told: Sequence[LossRecord]) -> None:
        if not told:
            return
        step = np.array([record.step for record in told])
        columns = {
            name: np.array([_number(getattr(record, name)) for record in told]) for name in _KEPT
        }
        self._append(step, columns)
        while len(self._series) > MOST_RECORDS:
            view = self._series.view()
            columns = {name: getattr(view, name) for name in _KEPT}
            self._series, self._stride = Series(_KEPT), 2 * self._stride
            self._untold = dict.fromkeys(_SUMMED, 0.0)
            self._append(view.step, columns)

    def _append(self, step: np.ndarray, columns: dict[str, Values]) -> None:
        """What falls on the stride; a step that is kept has the tokens and the time of those left
        out too.
        """
        if self._stride > 1:
            is_kept = step % self._stride == 0
            kept = {name: of[is_kept] for name, of in columns.items()}
            for name in _SUMMED:
                total = self._untold[name] + np.cumsum(np.nan_to_num(columns[name]))
                kept[name] = np.diff(total[is_kept], prepend=0.0)
                self._untold[name] = float(total[-1]) - float(sum(kept[name]))
            step, columns = step[is_kept], kept
        if len(step):
            self._series.append_many(step, **columns)


def open_other(path: Path) -> OtherRun:
    """A run whose history was read so far, a long one in a process of its own.

    Raises `OSError` whose text says why there is nothing to be read.
    """
    run = RunDirectory(path)
    is_array, _ = opening(run.loss)
    if not is_array:
        raise OSError(f"{run.loss.name} is no history of a run")
    if run.loss.stat().st_size >= WORTH_A_CHILD_BYTES:
        return in_child(_read, path)
    return _read(path)


def _read(path: Path) -> OtherRun:
    run = OtherRun(path)
    run.look()
    return run


def _identity(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_dev, stat.st_ino


def _number(value: float | None) -> float:
    return math.nan if value is None else value

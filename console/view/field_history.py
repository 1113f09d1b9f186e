"""One field of a foreign trainer over the steps, read on demand and then followed."""

from pathlib import Path

import numpy as np

from console.chart.chart_data import Points
from console.chart.series import Series
from console.view.cached_file import read_news
from trainer.rundir.records.loss_fields import field_reader
from trainer.rundir.records.record_file import RecordTail


class FieldHistory:
    """Keeps what was read, 16 bytes a step; each look blocks, and costs what is new."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._tail = RecordTail(path, field_reader(name))
        self._series = Series(("loss",))
        """With the field in the place of the loss: a replayed step counts once, here too."""
        self.points = self._points()
        """The same object until a value is new."""

    def look(self) -> None:
        """Read all that is new; of a file that can't be read, nothing."""
        before, has_more = self._series.view(), True
        while has_more:
            news = read_news(self._tail)
            if news.is_restarted:
                self._series = Series(("loss",))
            told = [record for record in news.records if record is not None]
            if told:
                steps, values = (np.array(column) for column in zip(*told, strict=True))
                self._series.append_many(steps, values, ())
            has_more = news.has_more
        if self._series.view() is not before:
            self.points = self._points()

    def _points(self) -> Points:
        view = self._series.view()
        return Points(name=self.name, step=view.step, value=view.loss)

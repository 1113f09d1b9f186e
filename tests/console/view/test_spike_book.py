"""A spike that came back is told with its beginning and its end, however the run was read."""

import numpy as np
import pytest

from console.chart.series import Series, SeriesView
from console.view import spike_book
from console.view.run_view import Event, Mark, MarkKind
from console.view.spike_book import SpikeBook

BEGAN = 1_780_000_000.0
N, AT = 4096, 2000


def series_of(n: int, height: float = 3.0, fade: float = 0.94) -> SeriesView:
    """Two unlike arms, and a spike at AT that fades."""
    step = np.arange(1, N + 1)
    chance, arm = np.random.default_rng(3), step % 2
    usual = 3.0 + arm
    since = np.maximum(step - AT, 0)
    loss = usual + chance.normal(0, 0.1, N) + np.where(step >= AT, height * fade**since, 0.0)
    series = Series()
    codes = series.codes_of(["wiki" if each else "code" for each in arm[:n].tolist()])
    ema = np.full(N, 3.5)
    known = {"t": BEGAN + 10.0 * step[:n], "arm": codes}
    series.append_many(step[:n], loss[:n], ema[:n], **known)
    return series.view()


def told(n: int = N, height: float = 3.0, fade: float = 0.94) -> tuple[Event, ...]:
    book = SpikeBook()
    book.look(series_of(n, height, fade), ())
    return book.events


def test_it_begins_where_the_losses_shot_up_and_is_over_where_they_are_back() -> None:
    begin, end = told()
    assert begin.step == AT
    assert begin.t == BEGAN + 10.0 * AT
    assert begin.text.startswith("loss shot up 2.99 → 5.91")
    assert end.step is not None
    assert AT + 40 <= end.step <= AT + 60


def test_noise_and_arms_that_lie_apart_are_none() -> None:
    assert told(height=0.0) == ()


def test_what_stays_up_is_no_spike_for_the_judge_tells_it() -> None:
    assert told(fade=1.0) == ()


def test_one_that_is_not_back_yet_is_told_when_it_is_and_then_as_if_read_at_once() -> None:
    book = SpikeBook()
    assert not book.look(series_of(AT + 20), ())
    assert book.events == ()
    assert book.look(series_of(N), ())
    assert not book.look(series_of(N), ())
    assert book.events == told()


def test_a_level_that_a_pivot_moved_is_none() -> None:
    marks = (Mark(step=AT, kind=MarkKind.PHASE, label="phase 2"),)
    book = SpikeBook()
    book.look(series_of(N, fade=1.0), marks)
    assert book.events == ()


def test_a_history_made_anew_is_looked_at_anew() -> None:
    book = SpikeBook()
    book.look(series_of(N), ())
    assert book.look(series_of(1000), ())
    assert book.events == ()


def test_a_long_history_is_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = told()
    monkeypatch.setattr(spike_book, "_BLOCKS_A_LOOK", 2)
    book = SpikeBook()
    had_more: list[bool] = []
    while not had_more or had_more[-1]:
        book.look(series_of(N), ())
        had_more.append(book.has_more)
    assert len(had_more) > 3
    assert book.events == at_once

"""Folding the loss history."""

import math
from typing import Any

import numpy as np
import orjson
from hypothesis import given
from hypothesis import strategies as st

from console.chart.series import COLUMNS
from console.formatting import moment
from console.view.loss_history import History
from console.view.run_view import LossPoint, Mark, MarkKind
from trainer.rundir.records.loss_record import LossRecord, read_loss_records


def record(step: int, **fields: Any) -> LossRecord:
    told: dict[str, Any] = {"attempt": 1, "phase": 1, "loss": 5.0, "ema": 5.1, **fields}
    return LossRecord(step=step, **told)


def folded(*records: LossRecord) -> History:
    history = History()
    for each in records:
        history.add([each])
    return history


def test_the_last_record_of_a_step_counts() -> None:
    history = folded(record(1), record(2), record(2, attempt=2, loss=4.0), record(3, attempt=2))
    view = history.series.view()
    assert view.step.tolist() == [1, 2, 3]
    assert view.loss.tolist() == [5.0, 4.0, 5.0]


def test_restarts_and_phases_are_marked_where_they_begin() -> None:
    history = folded(record(1), record(2), record(3, attempt=2), record(4, attempt=3, phase=2))
    assert history.marks == (
        Mark(step=3, kind=MarkKind.RESTART, label="start 2"),
        Mark(step=4, kind=MarkKind.RESTART, label="start 3"),
        Mark(step=4, kind=MarkKind.PHASE, label="phase 2"),
    )


def test_a_step_that_stood_still_leaves_a_mark_with_when_and_how_long() -> None:
    usual = [record(step, ms=100.0, t=1000.0 + step) for step in range(1, 20)]
    stopped = record(20, ms=61_000.0, t=1080.0)
    history = folded(*usual, stopped, record(21, ms=100.0, t=1081.0))
    label = f"still 1 min, {moment(1019.0)}"
    assert history.marks == (Mark(step=20, kind=MarkKind.STALL, label=label),)
    at_once = History()
    at_once.add([*usual, stopped])
    assert at_once.marks == history.marks


def test_a_long_gap_between_two_steps_of_one_attempt_is_marked() -> None:
    usual = [record(step, ms=100.0, t=1000.0 + step) for step in range(1, 20)]
    history = folded(*usual, record(20, ms=100.0, t=1420.1))
    (mark,) = history.marks
    assert (mark.step, mark.kind, mark.label[:11]) == (20, MarkKind.STALL, "still 6 min")


def test_slow_steps_audits_and_restarts_are_no_stalls() -> None:
    slow = [record(step, ms=60_000.0, t=60.0 * step) for step in range(1, 20)]
    assert not folded(*slow).marks
    audited = [record(step, ms=100.0, t=1000.0 + step) for step in range(1, 20)]
    assert not folded(*audited, record(20, ms=100.0, t=1319.0)).marks
    restarted = folded(*audited, record(20, attempt=2, ms=90_000.0, t=5000.0))
    assert [mark.kind for mark in restarted.marks] == [MarkKind.RESTART]
    assert not folded(record(1), record(2, ms=40_000.0), record(3, t=1.0)).marks


def test_a_row_of_losses_that_are_no_numbers_is_one_mark_and_a_replay_takes_it_back() -> None:
    bad = {"loss": None, "nonfinite": {"loss": "NaN"}}
    history = folded(record(1), record(2, **bad), record(3, **bad))
    assert history.marks == (Mark(step=2, kind=MarkKind.NONFINITE, label="NaN"),)
    assert math.isnan(history.series.view().loss[-1])
    last = history.last_point()
    assert last is not None
    assert (last.loss, last.nonfinite) == (None, "NaN")
    history.add([record(2)])
    assert not history.marks


def test_marks_and_newest_stay_the_same_objects_until_they_change() -> None:
    history = folded(record(1), record(2, attempt=2))
    marks = history.marks
    history.add([record(3, attempt=2)])
    assert history.marks is marks


def test_records_without_a_usable_step_are_left_out() -> None:
    odd: list[dict[str, Any]] = [
        {},
        {"step": "7"},
        {"step": -1},
        {"step": 2**40},
        {"step": True},
        {"step": 1.5},
    ]
    read = read_loss_records(orjson.dumps([*odd, {"step": 3.0, "loss": "five", "ema": []}]))
    assert read is not None
    history = folded(record(2), *read)
    assert history.series.view().step.tolist() == [2, 3]
    last = history.last_point()
    assert last is not None
    assert (last.step, last.loss, last.ema, last.nonfinite) == (3, None, None, "")


def test_a_step_has_the_point_of_its_last_record_and_one_that_is_missing_has_none() -> None:
    bad = {"loss": None, "nonfinite": {"loss": "NaN"}}
    history = folded(record(1), record(2, **bad), record(4), record(5, arm="a"))
    history.add([record(1, attempt=2, loss=4.0)])
    assert history.point_at(1) == LossPoint(step=1, loss=4.0, ema=5.1)
    assert history.point_at(2) == LossPoint(step=2, loss=None, ema=5.1)
    assert history.point_at(3) is None
    assert history.point_at(4) == LossPoint(step=4, loss=5.0, ema=5.1)
    assert history.point_at(6) == history.last_point()
    assert History().point_at(1) is None


def test_a_view_tells_of_each_step_what_its_last_record_told() -> None:
    told = {"lr": 3e-4, "grad_norm": 0.5, "reward": 0.25, "tokens": 512, "ms": 90.0, "t": 1000.0}
    history = folded(
        record(1, arm="books", **told),
        record(2, arm="wiki"),
        record(1, arm="wiki", attempt=2, **told | {"t": 2000.0}),
    )
    view = history.series.view()
    assert view.arms == ("books", "wiki")
    assert [view.arms[code] for code in view.arm] == ["wiki", "wiki"]
    assert view.attempt.tolist() == [2, 1]
    assert (view.t[0], view.tokens[0], view.reward[0]) == (2000.0, 512, 0.25)
    assert math.isnan(view.t[1])
    assert view.at(2) == 1
    assert view.at(3) is None


def test_numbers_too_large_for_the_history_are_unknown() -> None:
    history = folded(record(1, lr=1e300, attempt=2**62, phase=2**31), record(2))
    view = history.series.view()
    assert math.isnan(view.lr[0])
    assert (view.attempt[0], view.phase[0], view.arm[0]) == (-1, -1, -1)


_NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
_CODES = st.none() | st.integers(1, 3) | st.integers(-(2**63), 2**63 - 1)
_TOLD: dict[str, st.SearchStrategy[Any]] = {
    "step": st.none() | st.integers(0, 30),
    "attempt": _CODES,
    "phase": _CODES,
    "arm": st.sampled_from(["", "a", "b", "c"]),
    **dict.fromkeys(("loss", "ema", "lr", "grad_norm", "reward"), _NUMBERS),
    "tokens": st.integers(-(2**63), 2**63 - 1),
    "ms": st.none() | st.floats(0, 1e5),
    "t": st.none() | st.floats(0, 1e4),
    "nonfinite": st.none() | st.just({"loss": "NaN"}),
}
_RECORDS = st.lists(st.builds(LossRecord, **_TOLD), max_size=12)


def assert_same(one: History, other: History) -> None:
    assert one.marks == other.marks
    assert (one.newest, one.attempt, one.phase) == (other.newest, other.attempt, other.phase)
    assert list(one.recent) == list(other.recent)
    assert one.nonfinite_steps == other.nonfinite_steps
    view, same = one.series.view(), other.series.view()
    assert view.arms == same.arms
    for name in ("step", *COLUMNS):
        column = view.step if name == "step" else view.column(name)
        expected = same.step if name == "step" else same.column(name)
        assert column.dtype == expected.dtype
        is_number = column.dtype.kind == "f"
        assert np.array_equal(column, expected, equal_nan=is_number), name


@given(records=_RECORDS)
def test_many_records_at_once_are_folded_as_one_by_one(records: list[LossRecord]) -> None:
    at_once = History()
    at_once.add(records)
    assert_same(at_once, folded(*records))


@given(records=_RECORDS)
def test_columns_hold_to_the_bit_what_the_last_record_of_a_step_told(
    records: list[LossRecord],
) -> None:
    history = History()
    history.add(records)
    view = history.series.view()
    last = {record.step: record for record in records if record.step is not None}
    assert view.step.tolist() == sorted(last)
    for name in ("loss", "ema", "t"):
        told = [getattr(last[step], name) for step in view.step.tolist()]
        assert [_known(value) for value in getattr(view, name)] == told
    arms = [last[step].arm for step in view.step.tolist()]
    assert ["" if code < 0 else view.arms[code] for code in view.arm.tolist()] == arms


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)

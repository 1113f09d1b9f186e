"""Pace, ETA and patience."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.view.pace import (
    BUSY_SECONDS,
    STALL_FLOOR_SECONDS,
    STARTING_SECONDS,
    Pace,
    eta_seconds,
    newest_time,
    pace_of,
    patience_seconds,
)
from trainer.rundir.records.loss_record import LossRecord, read_loss_records
from trainer.rundir.records.record_lines import encode_record


def records(*times: float, ms: float | None = 10_000, attempt: int = 1) -> list[LossRecord]:
    return [LossRecord(step=i, t=t, ms=ms, attempt=attempt) for i, t in enumerate(times)]


def test_steps_a_minute_is_the_steps_own_pace_and_the_wall_pace_has_its_audits() -> None:
    pace = pace_of(records(0, 10, 20, 60, 70))
    assert pace.steps_per_minute == pytest.approx(6)
    assert pace.wall_seconds == pytest.approx(70 / 4)
    assert pace.longest_gap_seconds == 40


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_a_clock_that_was_set_is_no_pace(jump: float) -> None:
    pace = pace_of(records(0, 10, 20, 30 + jump, 40 + jump))
    assert pace.wall_seconds == pytest.approx(10)


def test_time_between_two_attempts_is_no_pace() -> None:
    pace = pace_of(records(0, 10) + records(400, 410, attempt=2))
    assert pace.wall_seconds == pytest.approx(10)


def test_without_step_times_the_wall_clock_tells() -> None:
    assert pace_of(records(0, 2, 4, 6, ms=None)).steps_per_minute == pytest.approx(30)
    assert pace_of([LossRecord(), LossRecord()]).steps_per_minute is None


def test_eta_is_never_negative_and_unknown_without_pace_or_end() -> None:
    pace = Pace(step_seconds=10, wall_seconds=12)
    assert eta_seconds(100, 200, pace) == 1200
    assert eta_seconds(300, 200, pace) == 0
    assert eta_seconds(100, None, pace) is None
    assert eta_seconds(100, 200, Pace()) is None


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "t": st.floats() | st.text() | st.integers(-(2**63), 2**63),
                "ms": st.floats() | st.none() | st.integers(-(2**63), 2**63),
                "attempt": st.integers(-(2**63), 2**63) | st.text(),
            },
        )
    )
)
def test_any_records_give_a_pace_that_is_positive_or_unknown(odd: list[dict[str, Any]]) -> None:
    read = read_loss_records(b"[" + b",".join(map(encode_record, odd)) + b"]")
    assert read is not None
    pace = pace_of(read)
    for value in (pace.step_seconds, pace.wall_seconds, pace.steps_per_minute):
        assert value is None or value > 0


def test_patience_depends_on_what_the_trainer_does() -> None:
    pace = Pace(step_seconds=10, wall_seconds=12, longest_gap_seconds=50)

    def patience(doing: str, pace: Pace = pace, *, has_stepped: bool = True) -> float:
        return patience_seconds(doing, pace, has_stepped=has_stepped)

    assert patience("training") == 30
    assert patience("training", Pace(step_seconds=0.1)) == STALL_FLOOR_SECONDS
    assert patience("sampling") == patience("saving") == BUSY_SECONDS
    assert patience("training", has_stepped=False) == STARTING_SECONDS
    assert patience("") == 150


def test_newest_time_skips_records_that_dont_tell() -> None:
    assert newest_time([LossRecord(t=5.0), LossRecord()]) == 5
    assert newest_time([]) is None

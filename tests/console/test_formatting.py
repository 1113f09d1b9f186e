"""What the console shows for numbers, times and foreign text."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import formatting

NOW = 1_780_000_000.0


@pytest.mark.parametrize(
    ("count", "long", "short"),
    [
        (None, "–", "–"),
        (0, "0", "0"),
        (950, "950", "950"),
        (112_700, "112,700", "112.7k"),
        (2000, "2,000", "2k"),
        (1_250_000, "1,250,000", "1.25M"),
    ],
)
def test_steps_are_grouped_or_short(count: int | None, long: str, short: str) -> None:
    assert formatting.steps(count) == long
    assert formatting.short_steps(count) == short


@pytest.mark.parametrize(
    ("n_bytes", "shown"),
    [
        (None, "–"),
        (8, "8 B"),
        (153_363_464, "153 MB"),
        (1_441_529_864, "1.44 GB"),
        (999_999, "1.00 MB"),
        (12_300, "12.3 kB"),
        (2**70, "1181 EB"),
    ],
)
def test_sizes_are_decimal(n_bytes: int | None, shown: str) -> None:
    assert formatting.size(n_bytes) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "–"),
        (math.nan, "–"),
        (-3600, "0 s"),
        (12.9, "12 s"),
        (200, "3 min"),
        (7500, "2 h 05"),
        (23 * 86400 + 4 * 3600 + 59, "23 d 4 h"),
        (200 * 86400, "200 d"),
    ],
)
def test_durations_have_two_units_at_most(seconds: float | None, shown: str) -> None:
    assert formatting.duration(seconds) == shown


def test_a_young_age_stands_still_and_a_future_one_is_young() -> None:
    assert formatting.age(3) == formatting.age(59) == formatting.age(-3600) == "< 1 min"
    assert formatting.age(60) == "1 min"
    assert formatting.age(None) == "–"


def test_a_save_is_timed_finely_while_short() -> None:
    shown = [formatting.precise_seconds(s) for s in (None, 0.041, 1.34, 12.2, 200)]
    assert shown == ["–", "0.04 s", "1.3 s", "12 s", "3 min"]


def test_a_moment_that_no_calendar_holds_is_unknown() -> None:
    assert formatting.moment(1e300) == formatting.moment(math.nan) == formatting.moment(None) == "–"
    assert len(formatting.moment(1.7e9)) == len("2026-11-28 14:05")


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (6.0, "6.0/min"), (0.25, "0.25/min"), (1740.0, "1,740/min")]
)
def test_rates_keep_two_or_more_digits(value: float | None, shown: str) -> None:
    assert formatting.rate(value) == shown


def test_a_loss_that_is_not_finite_is_named_and_never_zero() -> None:
    assert formatting.loss(None, "NaN") == formatting.loss(math.nan) == "NaN"
    assert formatting.loss(-math.inf) == "-Infinity"
    assert formatting.loss(None) == "–"
    assert formatting.loss(3.21459) == "3.2146"
    assert formatting.loss(1.5e38) == "1.5e+38"


def test_hundred_percent_means_done() -> None:
    assert formatting.percent(0.9999) == "99 %"
    assert formatting.percent(0.99999, 1) == "99.9 %"
    assert formatting.percent(1.0) == "100 %"
    assert formatting.percent(None) == "–"


def test_scores_and_rates_of_learning() -> None:
    assert formatting.score(61.26) == "61.3"
    assert formatting.learning_rate(3e-4) == "3.00e-04"
    assert formatting.number(None) == "–"


@given(st.floats() | st.none())
def test_no_float_is_too_odd_to_be_shown(value: float | None) -> None:
    for show in (
        formatting.duration,
        formatting.age,
        formatting.precise_seconds,
        formatting.moment,
        formatting.rate,
        formatting.loss,
        formatting.score,
        formatting.learning_rate,
        formatting.percent,
    ):
        assert show(value)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (60, "20:27"),
        (4 * 3600, "Fri 00:26"),
        (23 * 3600, "Fri 19:26"),
        (5 * 86_400, "Tue 20:26"),
        (7 * 86_400, "Jun 4"),
        (300 * 86_400, "Mar 24 2027"),
        (float("nan"), "–"),
        (1e300, "–"),
    ],
)
def test_what_comes_has_its_day(seconds: float, shown: str) -> None:
    assert formatting.coming(NOW + seconds, NOW) == shown


@pytest.mark.parametrize(
    ("t", "is_dated", "shown"),
    [
        (NOW - 420, False, "7 min ago"),
        (NOW - 420, True, "May 28 20:19"),
        (NOW - 200 * 86_400, True, "2025-11-09"),
        (None, False, "–"),
        (float("nan"), True, "–"),
    ],
)
def test_what_was_has_its_age_or_its_date(t: float | None, is_dated: bool, shown: str) -> None:
    assert formatting.when(t, NOW, is_dated=is_dated) == shown

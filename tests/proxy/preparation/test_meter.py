"""What is done, how fast, and what is left."""

from trainer.proxy.preparation.meter import Meter, Reached


def test_speed_and_time_left_are_of_what_this_start_has_done() -> None:
    clock = [0.0]
    meter = Meter(lambda: clock[0])
    meter.expect("a", Reached(4, 1_000))
    meter.expect("b", Reached(1, 500))
    meter.begin("a", Reached(4, 1_000), Reached(1, 400))
    clock[0] = 10.0
    meter.reach("a", Reached(2, 600))
    now = meter.preparing
    assert now is not None
    assert (now.source, now.files_done, now.files) == ("a", 2, 5)
    assert (now.bytes_done, now.bytes) == (600, 1_500)
    assert now.bytes_per_second == 20.0
    assert now.seconds_left == 45.0


def test_speed_is_unknown_in_the_first_moment() -> None:
    meter = Meter(lambda: 0.0)
    meter.begin("a", Reached(1, 10), Reached())
    meter.reach("a", Reached(1, 10))
    now = meter.preparing
    assert now is not None
    assert (now.bytes_per_second, now.seconds_left) == (None, None)


def test_nothing_is_told_before_a_source_is_begun() -> None:
    meter = Meter(lambda: 0.0)
    meter.expect("a", Reached(1, 10))
    assert meter.preparing is None

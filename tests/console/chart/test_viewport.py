"""Which steps are in sight."""

from hypothesis import given
from hypothesis import strategies as st

from console.chart.viewport import Extent, Viewport, between

RUN = Extent(1, 1000)


def test_a_window_without_an_end_stays_with_the_newest() -> None:
    viewport = Viewport(span=100)
    assert viewport.window(RUN) == (901, 1000)
    assert viewport.window(Extent(1, 1001)) == (902, 1001)


def test_a_pinned_window_stands_still_and_the_whole_run_grows() -> None:
    pinned = Viewport(span=100).pinned(RUN)
    assert pinned.window(Extent(1, 5000)) == (901, 1000)
    assert Viewport().pinned(RUN).window(Extent(1, 5000)) == (1, 5000)


def test_the_step_zoomed_around_keeps_its_place() -> None:
    window = Viewport().zoomed(RUN, 0.5, 251).window(RUN)
    assert window == (126, 625)
    assert (251 - window.first) / window.span == 0.25


def test_zooming_out_ends_with_the_whole_run_and_in_with_ten_steps() -> None:
    assert Viewport(span=600, last=700).zoomed(RUN, 2, None) == Viewport()
    assert Viewport(span=11).zoomed(RUN, 0.5, None).span == 10


def test_panning_to_the_newest_follows_it_again() -> None:
    viewport = Viewport(span=100, last=960)
    assert viewport.panned(RUN, 0.25) == Viewport(span=100, last=985)
    assert viewport.panned(RUN, 0.25).panned(RUN, 0.25) == Viewport(span=100)
    assert Viewport().panned(RUN, 1.0) == Viewport()


def test_a_step_is_brought_into_sight_with_something_around_it() -> None:
    viewport = Viewport(span=100, last=500)
    assert viewport.with_step(RUN, 450) is viewport
    assert viewport.with_step(RUN, 700).window(RUN) == (611, 710)
    assert viewport.with_step(RUN, 300).window(RUN) == (290, 389)
    assert viewport.with_step(RUN, 1).window(RUN) == (1, 100)


@given(
    first=st.integers(0, 10**6),
    length=st.integers(1, 10**6),
    moves=st.lists(
        st.one_of(
            st.tuples(st.just("zoom"), st.sampled_from([0.5, 0.9, 2.0])),
            st.tuples(st.just("pan"), st.floats(-2, 2)),
            st.tuples(st.just("step"), st.floats(0, 1)),
            st.tuples(st.just("between"), st.floats(0, 1)),
        ),
        max_size=20,
    ),
)
def test_whatever_is_done_the_window_lies_in_the_run(
    first: int, length: int, moves: list[tuple[str, float]]
) -> None:
    run = Extent(first, first + length - 1)
    viewport = Viewport()
    for kind, amount in moves:
        step = run.first + int(amount * (length - 1)) if 0 <= amount <= 1 else run.first
        match kind:
            case "zoom":
                viewport = viewport.zoomed(run, amount, viewport.window(run).first)
            case "pan":
                viewport = viewport.panned(run, amount)
            case "step":
                viewport = viewport.with_step(run, step)
                assert viewport.window(run).holds(step)
            case _:
                viewport = between(run, run.last, step)
                assert viewport.window(run).holds(step)
        window = viewport.window(run)
        assert run.first <= window.first <= window.last <= run.last
        assert window.span >= min(10, length)

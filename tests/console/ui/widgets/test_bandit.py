"""The bandit pane: which arms are held at a bound, and when the bandit can do nothing."""

import pytest

from console.ui.widgets.bandit import title_of
from console.ui.widgets.source_table import table_lines
from console.view.run_view import ArmRow
from trainer.rundir.state import ArmState


def arm(
    name: str, weight: float, *, floor: float = 0.1, cap: float = 1.0, pulls: int = 9
) -> ArmRow:
    state = ArmState(pulls=pulls, weight=weight, probability=0.5, floor=floor, cap=cap)
    return ArmRow(name=name, state=state)


FREE, CAPPED, FLOORED = arm("free", 0.5), arm("capped", 1.0), arm("floored", 0.1)


@pytest.mark.parametrize("width", [160, 80, 44])
def test_arm_at_its_cap_or_floor_is_marked_in_words(width: int) -> None:
    lines = [line.plain for line in table_lines([FREE, CAPPED, FLOORED], [], [], width=width)]
    heading, *rows = lines
    end = heading.index("held at") + len("held at")
    marks = {row.split()[0]: row[end - 7 : end].strip() for row in rows}
    assert marks == {"free": "", "capped": "cap", "floored": "floor"}


def test_arm_that_was_never_pulled_weighs_its_cap_and_is_not_held() -> None:
    assert arm("new", 1.0, pulls=0).state.held_at == ""


def test_floor_of_0_holds_nothing() -> None:
    assert arm("none", 0.0, floor=0.0).state.held_at == ""


def test_title_tells_when_no_reward_can_change_anything() -> None:
    assert title_of([CAPPED, FLOORED], 0) == "every arm held at a bound: rewards change nothing"
    assert title_of([CAPPED, FREE], 2) == "2 zombies"
    assert title_of([CAPPED], 1) == "1 zombie", "one arm alone has every step anyway"
    gone = ArmRow(name="gone", state=ArmState(available=False))
    assert title_of([CAPPED, FLOORED, gone], 0) != ""


def test_forty_names_alike_but_for_their_ends_are_told_apart_and_whole_with_room() -> None:
    names = [f"a_rather_long_source_name_{number:02}" for number in range(40)]
    arms = [arm(name, 0.5) for name in names]
    for width in (44, 80, 120):
        rows = [line.plain for line in table_lines(arms, [], [], width=width)][1:]
        assert len({row.split()[0] for row in rows}) == 40, f"at {width} cells"
    rows = [line.plain for line in table_lines(arms, [], [], width=160)][1:]
    assert [row.split()[0] for row in rows] == names

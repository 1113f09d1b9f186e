"""The bandit pane: which arms are held at a bound, and when the bandit can do nothing."""

from dataclasses import replace

import pytest

from console.chart.series import Series
from console.health.verdict import Health, Reason
from console.ui.messages import StepChosen
from console.ui.screens.dashboard import Dashboard
from console.ui.widgets.bandit import BanditPane, ills_of, title_of
from console.ui.widgets.source_table import table_lines
from console.view.arm_counts import counted
from console.view.run_view import ArmRow
from console.view.sources import SourceFacts, SourceRow
from tests.console import fixed_run
from tests.console.headless import Stage
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


BOOKS = SourceRow(
    name="books",
    tokens=1_000_001,
    rows=1_000,
    given_tokens=3_210_000,
    given_rows=3_210,
    loss=2.8125,
    val_loss=2.9,
    share=0.6,
    wanted=0.25,
    shares=(0.0,) * 8 + (0.5,) * 8,
)
WIKI = SourceRow(name="wiki", share=0.4, shares=(1.0,) * 16)


def test_data_tells_of_each_source_what_was_given_and_what_is_left() -> None:
    heading, books, wiki, *_ = (
        line.plain for line in table_lines([], [], [BOOKS, WIKI], width=110, is_data=True)
    )
    assert " ".join(heading.split()) == ("arm share wanted seen unseen loss val rows given tokens")
    assert " ".join(books.split()).startswith("books 60.0 % 25 % 3.21× 790 2.812 2.900 1k ")
    assert "3.21M" in books
    assert books.rstrip().endswith("▁▁▁▁▁▁▁▁████████")
    assert wiki.split()[:4] == ["wiki", "40.0", "%", "–"]


@pytest.mark.parametrize("width", [36, 44, 75, 110, 156])
def test_no_line_of_forty_sources_is_wider_than_the_pane_and_no_two_names_are_alike(
    width: int,
) -> None:
    names = [f"a_rather_long_source_name_{number:02}" for number in range(40)]
    sources = [replace(BOOKS, name=name) for name in names]
    arms = [arm(name, 0.5) for name in names]
    lines = [
        line.plain.rstrip()
        for line in table_lines(arms, [], sources, width=width, is_data=True)[:41]
    ]
    assert max(map(len, lines)) <= width
    assert len({line.split()[0] for line in lines[1:]}) == 40


def test_either_side_leads_and_the_other_follows_where_there_is_room() -> None:
    arms = [arm("books", 0.5)]
    for is_data, first, last in ((True, "share", "cap"), (False, "pulls", "tokens")):
        heading = table_lines(arms, [], [BOOKS], width=156, is_data=is_data)[0].plain.split()
        assert (heading[1], heading[-1]) == (first, last)
        narrow = table_lines(arms, [], [BOOKS], width=75, is_data=is_data)[0].plain.split()
        assert last not in narrow


def test_a_source_that_is_seen_often_is_told_in_words_in_both_views() -> None:
    often = replace(BOOKS, given_rows=12_300)
    for is_data in (True, False):
        lines = table_lines([arm("books", 0.5)], [], [often, WIKI], width=75, is_data=is_data)
        assert any(line.plain == "seen more than 4 times: books 12.3×" for line in lines)
        few = table_lines([arm("books", 0.5)], [], [BOOKS], width=75, is_data=is_data)
        assert not any("seen more" in line.plain for line in few)


def test_what_preparation_left_out_and_the_loss_on_test_sets_are_told_with_the_data() -> None:
    copied = replace(BOOKS, left_out="1.2k copies kept, 12 passages of test sets out")
    tests = [("quiz", 2.25)]
    lines = table_lines([], [], [copied, WIKI], width=75, is_data=True, tests=tests)
    told = [line.plain for line in lines]
    assert "books: 1.2k copies kept, 12 passages of test sets out" in told
    assert "loss on test sets: quiz 2.2500" in told
    bandit = table_lines([arm("books", 0.5)], [], [copied], width=75, tests=tests)
    assert not any("copies" in line.plain for line in bandit)


def test_names_that_steer_a_terminal_are_shown_as_text() -> None:
    nasty = replace(BOOKS, name="\x1b[31m[red]books", given_rows=99_999)
    lines = table_lines([], [], [nasty], width=110, is_data=True)
    assert not any("\x1b" in line.plain for line in lines)
    assert any("[red]" in line.plain for line in lines)


def test_what_isnt_known_is_said_quietly() -> None:
    assert table_lines([], [], [], width=75)[0].plain == "no arm known yet"
    assert "b shows the sources" in table_lines([], [], [WIKI], width=75)[0].plain
    assert "tells its source" in table_lines([], [], [], width=75, is_data=True)[0].plain


def reason(series: str, since_step: int, kind: str = "memorising") -> Reason:
    text = f"memorising: {series} 0.10 → 0.45"
    made = Reason(
        kind="memorising",
        series=series,
        since_step=since_step,
        past=0.1,
        now=0.45,
        text=text,
        sigmas=9.0,
    )
    return made if kind == "memorising" else replace(made, kind="source")


def glance_sources() -> SourceFacts:
    series = Series()
    codes = series.codes_of(["books", "wiki"] * 50)
    series.append_many(range(1, 101), [3.0] * 100, [3.0] * 100, arm=codes, phase=[1] * 100)
    return SourceFacts(counts=counted(series.view(), None), has_own_bandit=False)


def pane_of(stage: Stage) -> BanditPane:
    return stage.app.screen.query_one(BanditPane)


async def test_key_turns_the_bandit_into_its_data_and_back() -> None:
    stage = Stage(fixed_run.fixed_view(3))
    stage.follower.sources = glance_sources()
    async with stage.opened(80, 24):
        await stage.pilot.press("3", "b")
        assert "3 data" in stage.text()
        assert "unseen" in stage.text()
        await stage.pilot.press("b")
        assert "3 bandit" in stage.text()
        assert "held at" in stage.text()


async def test_a_chosen_step_shows_the_arms_as_they_stood_then_and_none_as_they_are() -> None:
    stage = Stage(fixed_run.fixed_view(3))
    stage.follower.sources = glance_sources()
    async with stage.opened(80, 24):
        await stage.pilot.press("3")
        assert "stdlib-docs" in stage.text()
        assert isinstance(stage.app.screen, Dashboard)
        stage.app.screen.post_message(StepChosen(61))
        await stage.until(lambda: "3 bandit at step 61" in stage.text(), "the step in the title")
        pulls = {
            line.split()[1]: line.split()[2]
            for line in stage.text().splitlines()
            if line[:1] in "┃│" and line.split()[1:2] in (["books"], ["wiki"])
        }
        assert pulls == {"books": "31", "wiki": "30"}
        stage.app.screen.post_message(StepChosen(None))
        await stage.until(lambda: "stdlib-docs" in stage.text(), "the arms of now")


async def test_what_went_wrong_with_a_source_is_told_from_the_step_on_since_when_it_did() -> None:
    gap = reason("train–val gap of wiki", 80)
    view = replace(
        fixed_run.fixed_view(3), health=Health(verdict="healthy", memorised={"wiki": gap})
    )
    stage = Stage(view)
    stage.follower.sources = glance_sources()
    async with stage.opened(80, 24):
        await stage.pilot.press("3")
        assert "since step ~80: memorising: train–val gap of wiki 0.10" in stage.text()
        for step, is_told in ((79, False), (80, True)):
            pane_of(stage).select(step)
            await stage.pilot.pause()
            assert ("memorising" in stage.text()) == is_told


def test_ills_are_those_of_single_sources() -> None:
    bad, all_of_it = reason("loss of wiki", 5, "source"), reason("loss", 5, "source")
    gap = reason("train–val gap of docs", 7)
    health = Health(verdict="ill", reasons=(all_of_it, bad), memorised={"docs": gap})
    assert ills_of(health) == (bad, gap)


@pytest.mark.parametrize("width", [78, 156])
def test_a_source_seen_a_thousand_times_has_its_columns_apart(width: int) -> None:
    seen = replace(BOOKS, share=0.2, wanted=0.2, rows=1000, given_rows=1_177_000)
    heading, row = table_lines([], [], [seen], width=width, is_data=True)[:2]
    assert "1,177×" in row.plain.split()
    assert heading.plain.split()[1:4] == ["share", "wanted", "seen"]

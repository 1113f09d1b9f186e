"""The fork and compare screens, with branches that are scripted."""

import queue
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from console.fork.branch_rows import BranchRow
from console.fork.branches import Asked, Branches, Order, branch_of
from console.fork.comparison_chart import SideBySide
from console.fork.grown import Grown
from console.fork.memory_need import MemoryNeed
from console.ui.screens.dashboard import Dashboard
from console.ui.screens.fork.branch_table import BranchTable, branch_lines
from console.ui.screens.fork.branches import BranchesScreen
from console.ui.screens.fork.compare import CompareScreen
from console.ui.screens.fork.fork import ForkScreen
from console.ui.widgets.choices import Choices
from console.view.run_view import Severity, Status
from tests.console import fixed_run
from tests.console.fixed_comparison import fixed_side_by_side
from tests.console.headless import Stage
from tests.console.told import Told
from trainer.rundir.config.policy_change import Bounds
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError

RUN = BranchRow(name="andrea-120m", path=Path("runs/andrea-120m"), status=Status(word="training"))
NEED = MemoryNeed(where="memory", each_bytes=3 * 10**9, is_measured=True, free_bytes=4 * 10**9)


class ScriptedBranching(Branches):
    """Remembers what was asked; `then` is what it tells, or raises, next."""

    def __init__(self, *made: BranchRow, needs: tuple[MemoryNeed, ...] = (NEED,)) -> None:
        super().__init__(RunDirectory(Path("nowhere") / "andrea-120m"))
        self.asked: list[Asked] = []
        self.then: queue.Queue[tuple[Grown, ...] | Exception | None] = queue.Queue()
        self.calls: list[tuple[str, Path]] = []
        self._made = made
        self._needs = needs

    def rows(self, grown: Sequence[Grown]) -> tuple[BranchRow, ...]:
        growing = (
            BranchRow(
                name=one.name, path=one.path, problem=one.problem, status=Status(word=one.words)
            )
            for one in grown
        )
        return (RUN, *self._made, *growing)

    def memory_needs(self) -> tuple[MemoryNeed, ...]:
        return self._needs

    def stop(self, path: Path) -> Told:
        self.calls.append(("stop", path))
        return Told(message="stop requested")

    async def open(self, path: Path) -> str:
        self.calls.append(("open", path))
        return ""

    def grow(self, asked: Asked) -> Iterator[tuple[Grown, ...]]:
        self.asked.append(asked)
        yield tuple(Grown(name=branch.name) for branch in asked.branches)
        while (told := self.then.get(timeout=30)) is not None:
            if isinstance(told, Exception):
                raise told
            yield told


def made(name: str, word: str = "stopped", **facts: object) -> BranchRow:
    status = Status(word=word, severity=Severity.BAD if word == "failed" else Severity.ENDED)
    row = BranchRow(name=name, path=Path("runs") / name, base=113_800, step=113_900, status=status)
    return replace(row, **facts)  # type: ignore[arg-type]


async def open_fork(stage: Stage) -> None:
    """The fork screen on the newest checkpoint, and keys count."""
    await stage.pilot.press("4", "down", "f")
    await stage.until(lambda: isinstance(stage.app.screen, ForkScreen), "the fork screen")
    await stage.settle("Enter next, choose")


async def open_branches(stage: Stage) -> None:
    """The list, by way of the fork screen."""
    await open_fork(stage)
    await stage.pilot.press(*["tab"] * 4, "down", "down", "down", "enter")
    await in_branches(stage)


async def in_branches(stage: Stage) -> None:
    await stage.until(lambda: isinstance(stage.app.screen, BranchesScreen), "the branches")
    await stage.settle("m compare with this")
    await stage.until(lambda: isinstance(stage.app.focused, BranchTable), "the focus")
    await stage.until(lambda: "▸" in stage.text(), "the cursor")


def _is_shown(stage: Stage, words: str) -> bool:
    return words in stage.text()


async def confirm(stage: Stage) -> None:
    """Say yes to the trainers."""
    await stage.settle("Enter choose   Esc back")
    await stage.until(lambda: isinstance(stage.app.focused, Choices), "the focus")
    await stage.pilot.press("down", "enter")
    await in_branches(stage)


def grown(words: str, **facts: object) -> tuple[Grown, ...]:
    names = ("andrea-120m-113900-a", "andrea-120m-113900-b")
    one = tuple(Grown(name=name, path=Path("runs") / name, words=words) for name in names)
    return tuple(replace(branch, **facts) for branch in one)  # type: ignore[arg-type]


def test_branch_is_read_from_what_was_typed() -> None:
    typed = "optimizer.lr=1e-4 policy.books.cap=0.5 policy.books.floor=.1"
    branch = branch_of("a", typed, note="why")
    assert branch.settings == {"optimizer.lr": "1e-4"}
    assert branch.change is not None
    assert branch.change.bounds == {"books": Bounds(floor=0.1, cap=0.5)}
    assert branch_of("a", "", note="why").change is None


@pytest.mark.parametrize("typed", ["lr", "=3", "seed=", "policy.books=1", "policy.books.cap=x"])
def test_word_that_is_no_setting_is_named(typed: str) -> None:
    with pytest.raises(SettingsError, match=typed.replace(".", r"\.")):
        branch_of("a", typed, note="")


def test_setting_that_is_typed_twice_is_named() -> None:
    for typed in ("seed=1 seed=2", "policy.books.cap=1 policy.books.cap=2"):
        with pytest.raises(SettingsError, match="is given twice"):
            branch_of("a", typed, note="")


async def test_branches_are_asked_for_made_and_compared() -> None:
    branching = ScriptedBranching()
    async with Stage(branching=branching).opened() as stage:
        await open_fork(stage)
        assert "step 113,800" in stage.text()
        await stage.pilot.press(*"seed=4", "enter", "enter", *"policy.books.cap=0.5", "enter")
        await stage.pilot.press("enter", "down", "enter")
        await confirm(stage)
        await stage.until(lambda: "andrea-120m-113800-b" in stage.text(), "both branches")
        (asked,) = branching.asked
        assert (asked.step, asked.steps, asked.order) == (113_800, 200, Order.AT_ONCE)
        first, second = asked.branches
        assert (first.settings, second.settings) == ({"seed": "4"}, {})
        assert first.change is None
        assert second.change is not None
        branching.then.put(grown("trains, step [/] 5"))
        await stage.until(lambda: "trains, step [/] 5" in stage.text(), "the next look")
        branching.then.put(grown("has ended", is_done=True))
        branching.then.put(None)
        await stage.until(lambda: "has ended" in stage.text(), "the end")
        await stage.pilot.press("escape")
        assert isinstance(stage.app.screen, Dashboard)


@pytest.mark.parametrize("downs", [0, 1], ids=["in turn", "at once"])
async def test_enter_on_an_order_starts_nothing_but_asks_with_need_and_room(downs: int) -> None:
    branching = ScriptedBranching()
    async with Stage(branching=branching).opened() as stage:
        await open_fork(stage)
        await stage.pilot.press(*["tab"] * 4, *["down"] * downs, "enter", "enter", "enter")
        await stage.settle("Enter choose   Esc back")
        assert branching.asked == []
        told = "about 6.00 GB more is needed; 4.00 GB is free" if downs else "about 3.00 GB more"
        assert told in stage.text()
        assert ("✖ memory" if downs else "✓ memory") in stage.text()
        await stage.until(lambda: "▸ Back" in stage.text(), "the safe answer first")
        await stage.pilot.press("enter")
        await stage.settle("Enter next, choose")
        await stage.pilot.press("escape")
        assert isinstance(stage.app.screen, Dashboard)
    assert branching.asked == []


async def test_need_that_is_not_known_is_not_green() -> None:
    need = MemoryNeed(where="card", each_bytes=10**9, is_measured=False, free_bytes=9 * 10**9)
    async with Stage(branching=ScriptedBranching(needs=(need,))).opened() as stage:
        await open_fork(stage)
        await stage.pilot.press(*["tab"] * 4, "enter")
        await stage.settle("? card: at least 1.00 GB more is needed; 9.00 GB is free")


async def test_up_and_down_walk_the_fields_and_the_choices_with_one_mark() -> None:
    async with Stage(branching=ScriptedBranching()).opened() as stage:
        await open_fork(stage)
        marks = []
        for key in ("up", "up", "up", *["down"] * 9, *["up"] * 9):
            await stage.pilot.press(key)
            marks += [line for line in stage.text().splitlines() if "▸" in line]
        assert len(marks) == 21, "one a look, never two"
        assert "▸ name" in marks[2], "above the first field there is nothing"
        assert "▸ Only make them" in marks[11], "below the last choice there is nothing"
        assert "▸ name" in marks[20]


async def test_branches_that_are_only_made_are_not_asked_for_twice() -> None:
    branching = ScriptedBranching()
    async with Stage(branching=branching).opened() as stage:
        await open_fork(stage)
        await stage.pilot.press(*["tab"] * 4, "down", "down", "enter")
        await in_branches(stage)
        assert [asked.order for asked in branching.asked] == [Order.NOT]
        branching.then.put(None)


async def test_all_branches_are_in_one_list_and_any_two_rows_can_be_compared() -> None:
    rows = [made(name) for name in ("one-a", "one-b", "two-a", "two-b")]
    async with Stage(branching=ScriptedBranching(*rows)).opened() as stage:
        await open_branches(stage)
        text = stage.text()
        assert all(words in text for words in ("this run", "one-a", "one-b", "two-a", "two-b"))
        for keys, names in (
            (("down", "enter"), "andrea-120m and one-a"),
            (("m", "down", "enter"), "one-a and one-b"),
            (("down", "enter"), "one-a and two-a"),
        ):
            await stage.pilot.press(*keys)
            await stage.until(lambda: isinstance(stage.app.screen, CompareScreen), "the comparison")
            await stage.until(partial(_is_shown, stage, names), names)
            await stage.pilot.press("escape")
        await stage.pilot.press("up", "up", "enter")
        assert "what the others are compared with" in stage.text()


async def test_branch_is_stopped_by_its_row_and_the_run_itself_is_not() -> None:
    branching = ScriptedBranching(made("one-a"))
    async with Stage(branching=branching).opened() as stage:
        await open_branches(stage)
        await stage.pilot.press("s")
        assert "q on the dashboard stops this run" in stage.text()
        await stage.pilot.press("down", "s")
        await stage.until(stage.toasts, "the outcome")
        assert stage.toasts() == ["one-a: stop requested"]
        assert branching.calls == [("stop", Path("runs/one-a"))]


async def test_branch_is_opened_in_a_console_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    branching = ScriptedBranching(made("one-a"))
    async with Stage(branching=branching).opened() as stage:
        monkeypatch.setattr(type(stage.app), "suspend", lambda _: nullcontext())
        await open_branches(stage)
        await stage.pilot.press("o")
        assert "the one that this console shows" in stage.text()
        await stage.pilot.press("down", "o")
        assert branching.calls == [("open", Path("runs/one-a"))]
        assert isinstance(stage.app.screen, BranchesScreen)


async def test_terminal_that_cannot_be_lent_is_told() -> None:
    branching = ScriptedBranching(made("one-a"))
    async with Stage(branching=branching).opened() as stage:
        await open_branches(stage)
        await stage.pilot.press("down", "o")
        await stage.until(stage.toasts, "why not")
        assert stage.toasts()[0] == "a console needs a real terminal"
        assert branching.calls == []


def test_stopped_branch_is_marked_as_stopped_and_a_failed_one_as_failed() -> None:
    rows = [RUN, made("a"), made("b", "finished"), made("c", "failed")]
    lines = [content.plain for content in branch_lines(rows, 100)]
    assert [line.split()[0] for line in lines] == ["◆", "■", "✓", "✖"]


async def test_mistakes_are_told_at_their_field_and_nothing_is_made() -> None:
    branching = ScriptedBranching()
    async with Stage(branching=branching).opened(80, 24) as stage:
        await open_fork(stage)
        await stage.pilot.press(*"speed", "tab", "tab", *"lr=", "tab", *"x", "tab", "enter")
        text = stage.text()
        for words in ("speed: write KEY=VALUE", "lr=: write KEY=VALUE", "no number of steps"):
            assert words in text
        await stage.pilot.press("shift+tab", "ctrl+u", *"7", "up", "ctrl+u")
        await stage.pilot.press("up", "ctrl+u", "up", "ctrl+u", "up", "ctrl+u")
        await stage.pilot.press(*["tab"] * 5, "enter")
        assert stage.text().count("give the branch a name") == 2
        assert branching.asked == []


async def test_escape_and_a_storm_of_keys_make_nothing() -> None:
    branching = ScriptedBranching()
    async with Stage(branching=branching).opened() as stage:
        await stage.pilot.press("4", "f")
        await stage.until(lambda: isinstance(stage.app.screen, ForkScreen), "the fork screen")
        await stage.pilot.press(*("tab", "enter") * 8)
        await stage.settle("Enter next, choose")
        await stage.pilot.press("escape")
        assert isinstance(stage.app.screen, Dashboard)
    assert branching.asked == []


async def test_fork_that_is_refused_is_told_and_can_be_asked_for_again() -> None:
    branching = ScriptedBranching()
    async with Stage(branching=branching).opened() as stage:
        await open_fork(stage)
        await stage.pilot.press(*["tab"] * 4, "enter")
        await confirm(stage)
        branching.then.put(SettingsError("the name [is] taken"))
        await stage.until(lambda: "is not made" in stage.text(), "the row")
        assert "the name [is] taken" in stage.text()
        await stage.pilot.press("escape")
        await open_fork(stage)
        assert "Branch A" in stage.text()


async def test_branch_that_was_made_before_the_other_was_refused_can_be_left_behind() -> None:
    branching = ScriptedBranching()
    async with Stage(branching=branching).opened() as stage:
        await open_fork(stage)
        await stage.pilot.press(*["tab"] * 4, "enter")
        await confirm(stage)
        first, second = grown("is made")
        branching.then.put((first, replace(second, path=None, words="is being made")))
        await stage.until(lambda: "is being made" in stage.text(), "the second")
        branching.then.put(SettingsError("the name is taken"))
        await stage.until(lambda: "is not made" in stage.text(), "the row")
        assert "goes no further from here" in stage.text()
        await stage.pilot.press("escape")
        await open_fork(stage)
        assert "Branch A" in stage.text()


async def test_branches_go_on_without_their_screen_and_are_shown_again() -> None:
    branching = ScriptedBranching()
    async with Stage(branching=branching).opened() as stage:
        await open_fork(stage)
        await stage.pilot.press(*["tab"] * 4, "enter")
        await confirm(stage)
        await stage.pilot.press("escape", "f")
        await in_branches(stage)
        assert "waits" in stage.text()
        await stage.pilot.press("escape")
        branching.then.put(grown("is done", is_done=True))
        branching.then.put(None)
        await stage.until(stage.toasts, "their end")
        assert "f on a checkpoint lists them" in stage.toasts()[-1]


async def test_folder_of_the_forks_that_cannot_be_read_is_told_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: object, __: object) -> None:
        raise OSError("the disk is gone")

    branching = ScriptedBranching()
    monkeypatch.setattr(ScriptedBranching, "rows", fail)
    async with Stage(branching=branching).opened() as stage:
        await stage.pilot.press("4", "f")
        await stage.until(stage.toasts, "why not")
        assert stage.toasts() == ["the disk is gone"]
        assert isinstance(stage.app.screen, Dashboard)


async def test_read_only_console_forks_nothing() -> None:
    async with Stage(is_read_only=True).opened() as stage:
        await stage.pilot.press("4", "f")
        assert stage.toasts() == ["read-only: nothing is changed from here"]


@pytest.mark.parametrize("size", [(160, 45), (80, 24), (40, 10)])
async def test_comparison_says_who_is_better_and_what_is_not_comparable(
    size: tuple[int, int],
) -> None:
    def read() -> SideBySide:
        return fixed_side_by_side()

    async with Stage(fixed_run.fixed_view(3)).opened(*size) as stage:
        await stage.app.push_screen(CompareScreen(("v3-112700-a", "v3-112700-b"), read))
        await stage.until(lambda: "is better than" in " ".join(stage.text().split()), "verdict")
        if size[0] < 80:
            return
        text = " ".join(stage.text().replace("┃", " ").split())
        for words in ("± 0.00", "nats a token", "say nothing about which run is better"):
            assert words in text
        await stage.pilot.press("end")
        await stage.pilot.pause()
        assert "policy.books.cap" in stage.text() or size == (80, 24)
        assert "sample of v3-112700-b" in stage.text() or size == (80, 24)
        await stage.pilot.press("q")
        assert isinstance(stage.app.screen, Dashboard)

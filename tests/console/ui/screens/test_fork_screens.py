"""The fork and compare screens, with branches that are scripted."""

import queue
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from console.fork.branches import Asked, Branches, Grown, Order, branch_of
from console.fork.comparison_chart import SideBySide
from console.ui.screens.dashboard import Dashboard
from console.ui.screens.fork.compare import CompareScreen
from console.ui.screens.fork.fork import ForkScreen
from tests.console import fixed_run
from tests.console.fixed_comparison import fixed_side_by_side
from tests.console.headless import Stage
from trainer.rundir.config.policy_change import Bounds
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError


class ScriptedBranching(Branches):
    """Remembers what was asked; `then` is what it tells, or raises, next."""

    def __init__(self, forks: tuple[str, ...] = ()) -> None:
        super().__init__(RunDirectory(Path("nowhere") / "andrea-120m"))
        self.asked: list[Asked] = []
        self.then: queue.Queue[tuple[Grown, ...] | Exception | None] = queue.Queue()
        self._forks = forks

    def forks(self) -> tuple[str, ...]:
        return self._forks

    def grow(self, asked: Asked) -> Iterator[tuple[Grown, ...]]:
        self.asked.append(asked)
        yield tuple(Grown(name=branch.name) for branch in asked.branches)
        while (told := self.then.get(timeout=30)) is not None:
            if isinstance(told, Exception):
                raise told
            yield told


async def open_fork(stage: Stage) -> None:
    """The fork screen on the newest checkpoint, and keys count."""
    await stage.pilot.press("4", "down", "f")
    await stage.until(lambda: isinstance(stage.app.screen, ForkScreen), "the fork screen")
    await stage.settle("Enter next, choose")


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


def test_fork_that_is_still_being_made_is_not_among_the_forks(tmp_path: Path) -> None:
    for name in ("one", ".two.partial"):
        fork = RunDirectory(tmp_path / name)
        fork.path.mkdir()
        fork.fork.write_text('{"parent": "v3", "step": 100}')
    assert Branches(RunDirectory(tmp_path / "v3")).forks() == ("one",)


async def test_branches_are_asked_for_made_and_compared() -> None:
    branching = ScriptedBranching()
    async with Stage(branching=branching).opened() as stage:
        await open_fork(stage)
        assert "step 113,800" in stage.text()
        await stage.pilot.press(*"seed=4", "enter", "enter", *"policy.books.cap=0.5", "enter")
        await stage.pilot.press("enter", "down", "enter")
        await stage.settle("andrea-120m-113800-b   waits")
        (asked,) = branching.asked
        assert (asked.step, asked.steps, asked.order) == (113_800, 200, Order.AT_ONCE)
        first, second = asked.branches
        assert (first.settings, second.settings) == ({"seed": "4"}, {})
        assert first.change is None
        assert second.change is not None
        branching.then.put(grown("trains, step [/] 5"))
        await stage.settle("trains, step [/] 5")
        assert "Compare them" in stage.text()
        branching.then.put(grown("is done", is_done=True))
        branching.then.put(None)
        await stage.settle("is done")
        await stage.settle("Enter next, choose")
        await stage.pilot.press("down", "enter")
        assert isinstance(stage.app.screen, Dashboard)


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
        branching.then.put(SettingsError("the name [is] taken"))
        await stage.settle("the name [is] taken")
        assert "is not made" in stage.text()
        await stage.settle("Enter next, choose")
        await stage.pilot.press("escape")
        await open_fork(stage)
        assert "Branch A" in stage.text()


async def test_branch_that_was_made_before_the_other_was_refused_can_be_left_behind() -> None:
    branching = ScriptedBranching()
    async with Stage(branching=branching).opened() as stage:
        await open_fork(stage)
        await stage.pilot.press(*["tab"] * 4, "enter")
        first, second = grown("is made")
        branching.then.put((first, replace(second, path=None, words="is being made")))
        await stage.settle("is being made")
        branching.then.put(SettingsError("the name is taken"))
        await stage.settle("the name is taken")
        await stage.settle("Enter next, choose")
        assert "goes no further from here" in stage.text()
        await stage.pilot.press("escape")
        await open_fork(stage)
        assert "Branch A" in stage.text()


async def test_branches_go_on_without_their_screen_and_are_shown_again() -> None:
    branching = ScriptedBranching()
    async with Stage(branching=branching).opened() as stage:
        await open_fork(stage)
        await stage.pilot.press(*["tab"] * 4, "enter")
        await stage.settle("waits")
        await stage.settle("Enter next, choose")
        await stage.pilot.press("escape")
        await open_fork(stage)
        assert "waits" in stage.text()
        await stage.pilot.press("escape")
        branching.then.put(grown("is done", is_done=True))
        branching.then.put(None)
        await stage.until(stage.toasts, "their end")
        assert "f on a checkpoint compares them" in stage.toasts()[-1]


async def test_forks_made_before_can_be_compared() -> None:
    branching = ScriptedBranching(("older", "one", "two"))
    async with Stage(branching=branching).opened() as stage:
        await open_fork(stage)
        assert "Compare one with two" in stage.text()
        await stage.pilot.press(*["tab"] * 4, "up", "enter")
        await stage.until(lambda: isinstance(stage.app.screen, CompareScreen), "the comparison")
        await stage.until(lambda: "there is no run" in stage.text(), "why not")
        await stage.pilot.press("escape")
        assert isinstance(stage.app.screen, ForkScreen)


async def test_folder_of_the_forks_that_cannot_be_read_is_told_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: object) -> None:
        raise OSError("the disk is gone")

    branching = ScriptedBranching()
    monkeypatch.setattr(ScriptedBranching, "forks", fail)
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

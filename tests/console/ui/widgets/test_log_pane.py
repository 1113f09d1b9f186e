"""The log pane over a real log."""

import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events

from console.ui.messages import StepChosen
from console.ui.screens.dashboard import Dashboard
from console.ui.widgets.log_reader import Lines, LogReader
from console.ui.widgets.log_tail import LogPane
from console.view.log_file import Progress
from console.view.log_tail import LogTail
from console.view.run_view import RunView
from tests.console import fixed_run
from tests.console.headless import Stage

LINES = [f"step {step:,}: loss 2.9" for step in range(0, 500_000, 100)]


class Logged:
    """A stage with a log on disk, the log pane in front."""

    def __init__(self, folder: Path, lines: list[str]) -> None:
        self.path = folder / "trainer.log"
        self.tail = LogTail(self.path)
        self.write(lines)
        self.stage = Stage(self.view())

    def write(self, lines: list[str]) -> None:
        self.path.write_text("".join(f"{line}\n" for line in lines))

    def view(self) -> RunView:
        self.tail.look()
        return replace(fixed_run.fixed_view(12), path=self.path.parent, log_tail=self.tail.lines)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Logged"]:
        async with self.stage.opened(80, 24):
            await self.stage.pilot.press("5")
            yield self

    async def press(self, *keys: str) -> None:
        await self.stage.pilot.press(*keys)
        await self.stage.pilot.pause()

    async def shows(self, text: str) -> None:
        await self.stage.until(lambda: text in self.stage.text(), text)

    async def grows(self, lines: list[str]) -> None:
        with self.path.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))
        await self.stage.becomes(self.view())

    @property
    def pane(self) -> LogPane:
        return self.stage.app.screen.query_one(LogPane)


async def test_the_pane_follows_until_scrolled_up_stays_there_and_f_or_end_follow_again(
    tmp_path: Path,
) -> None:
    async with Logged(tmp_path, LINES).opened() as log:
        await log.shows("step 499,900")
        await log.press("pageup")
        await log.shows("F follows")
        seen = re.findall("step [0-9,]+", log.stage.text())
        await log.grows(["more"] * 300)
        assert re.findall("step [0-9,]+", log.stage.text()) == seen
        for key in ("F", "end"):
            await log.press("pageup", key)
            await log.shows("more")
            assert "F follows" not in log.stage.text()


async def test_scrolling_up_comes_to_lines_that_the_tail_never_held(tmp_path: Path) -> None:
    async with Logged(tmp_path, LINES).opened() as log:
        for _ in range(30):
            await log.press("pageup")
            await log.stage.until(lambda: not log.pane._reader.is_reading, "the lines before")
        assert "step 499," not in log.stage.text()
        await log.press("home")
        await log.shows("step 0: loss")


async def test_a_search_goes_to_matches_in_both_directions_and_marks_them(tmp_path: Path) -> None:
    lines = ["first needle", *LINES, "second Needle", *LINES[:500]]
    async with Logged(tmp_path, lines).opened() as log:
        await log.press("slash", *"needle", "enter")
        await log.shows("second Needle")
        await log.press("n")
        await log.shows("first needle")
        await log.press("n")
        await log.shows("no further match")
        await log.press("N")
        await log.shows("second Needle")


async def test_letters_of_a_search_never_act_as_keys(tmp_path: Path) -> None:
    async with Logged(tmp_path, LINES).opened() as log:
        await log.press("slash", *"cdpq1")
        await log.shows("/cdpq1")
        assert log.stage.operations.calls == []
        await log.press("escape")
        assert "/cdpq1" not in log.stage.text()


async def test_letters_that_come_at_once_behind_the_slash_are_searched_for(tmp_path: Path) -> None:
    async with Logged(tmp_path, ["a needle", *LINES]).opened() as log:
        for key in ("slash", *"needle", "enter"):
            character = {"slash": "/", "enter": "\r"}.get(key, key)
            log.stage.app.post_message(events.Key(key, character))
        await log.shows("a needle")


async def test_levels_show_all_warnings_or_errors_and_follow_what_is_written_then(
    tmp_path: Path,
) -> None:
    lines = ["warning: hot", "error: lost", *LINES]
    async with Logged(tmp_path, lines).opened() as log:
        await log.press("L")
        await log.shows("warning: hot")
        assert "step 1" not in log.stage.text()
        await log.press("L")
        await log.stage.until(lambda: "hot" not in log.stage.text(), "errors only")
        await log.grows(["step 1", "ValueError: again"])
        await log.shows("ValueError: again")
        assert "error: lost" in log.stage.text()
        await log.press("L")
        await log.shows("step 1")


async def test_a_chosen_step_moves_the_log_there_and_none_follows_again(tmp_path: Path) -> None:
    async with Logged(tmp_path, LINES).opened() as log:
        log.pane.select(61_342)
        await log.shows("step 61,300")
        log.pane.select(None)
        await log.shows("step 499,900")


async def test_a_log_that_is_replaced_while_another_place_is_shown_is_followed_anew(
    tmp_path: Path,
) -> None:
    async with Logged(tmp_path, LINES).opened() as log:
        await log.press("home")
        await log.shows("step 0:")
        other = tmp_path / "other"
        other.write_text("begun anew\n" * 100_000)
        other.replace(log.path)
        await log.stage.becomes(log.view())
        await log.shows("begun anew")
        await log.shows("the log was replaced")
        log.write(["short"])
        await log.press("pageup")
        await log.stage.becomes(log.view())
        await log.shows("short")


async def test_long_lines_are_walked_along_and_control_sequences_are_spelled_out(
    tmp_path: Path,
) -> None:
    async with Logged(tmp_path, ["\x1b[2J" + "x" * 100 + "the end"]).opened() as log:
        await log.shows("\\x1b[2Jxxx")
        await log.press("right", "right")
        await log.shows("the end")
        await log.press("left", "left")
        await log.shows("\\x1b[2J")


async def test_w_puts_long_lines_on_several_rows_and_the_place_stays(tmp_path: Path) -> None:
    lines = [f"{line} {'x' * 150} the end of {n}" for n, line in enumerate(LINES[:500])]
    async with Logged(tmp_path, lines).opened() as log:
        await log.shows("step 49,900")
        await log.press("w")
        await log.shows("the end of 499")
        await log.press("pageup", "pageup", "pageup")
        top = next(row for row in log.stage.text().splitlines() if "step 4" in row)
        await log.press("w")
        assert "the end" not in log.stage.text()
        assert top.split(":")[0] in log.stage.text()
        for _ in range(5):
            await log.press("w", "pageup", "w")
            await log.stage.until(lambda: not log.pane._reader.is_reading, "the lines before")
        await log.press("w", "home")
        await log.shows("step 0: loss")
        await log.shows("the end of 0")


async def test_a_pane_that_grows_is_filled_with_lines_before(tmp_path: Path) -> None:
    async with Logged(tmp_path, LINES).opened() as log:
        log.pane.select(499_850)
        await log.shows("F follows")
        assert "step 497," not in log.stage.text()
        await log.stage.resize(80, 60)
        await log.shows("step 497,")
        await log.shows("step 499,900")


async def test_a_typed_time_leads_to_the_lines_of_it(tmp_path: Path) -> None:
    began = fixed_run.NOW - 100_000
    lines = [
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(began + 10 * n)) + f" line {n:,}."
        for n in range(10_001)
    ]
    async with Logged(tmp_path, lines).opened() as log:
        await log.press("at", *"-10h", "enter")
        await log.shows("line 6,400.")
        stamp = time.strftime("%Y-%m-%d %H:%M", time.localtime(began + 20_000))
        keys = {" ": "space", "-": "minus", ":": "colon"}
        await log.press("at", *(keys.get(each, each) for each in stamp), "enter")
        await log.shows(f"{stamp}:")
        await log.press("at", *"-9d", "enter")
        await log.shows("no line is of that time or before")
        await log.press("at", *"nonsense", "enter")
        await log.stage.until(lambda: "It takes -3h" in str(log.stage.toasts()), "what it takes")
        assert log.stage.operations.calls == []


async def test_f_and_escape_follow_the_end_and_let_all_panes_follow(tmp_path: Path) -> None:
    async with Logged(tmp_path, LINES).opened() as log:
        screen = log.stage.app.screen
        assert isinstance(screen, Dashboard)
        for key in ("F", "escape"):
            screen.post_message(StepChosen(61_342))
            await log.shows("step 61,300")
            await log.press(key)
            await log.shows("step 499,900")
            assert screen.step is None


async def test_a_scroll_to_the_end_just_before_does_not_undo_a_jump(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_at_once(
        reader: LogReader, read: Callable[[Progress], Lines], place: Callable[[Lines], None]
    ) -> None:
        place(read(lambda reached: True))

    async with Logged(tmp_path, LINES).opened() as log:
        monkeypatch.setattr(LogReader, "read", read_at_once)
        log.pane.follow()
        log.pane.select(61_342)
        await log.stage.pilot.pause()
        await log.stage.pilot.pause()
        assert "step 61,300" in log.stage.text()


async def test_the_pager_is_refused_in_words_without_a_real_terminal(tmp_path: Path) -> None:
    async with Logged(tmp_path, LINES).opened() as log:
        await log.press("enter")
        await log.stage.until(
            lambda: "a pager needs a real terminal" in log.stage.toasts(), "the refusal"
        )

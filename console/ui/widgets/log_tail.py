"""The log pane: follows what the trainer prints, or shows any other place of its log."""

import asyncio
import os
from collections.abc import Callable
from threading import Event
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from console import formatting
from console.operations.actions import Place
from console.process.pager import pager_command
from console.ui.keys import bindings_at
from console.ui.theme import DIM
from console.ui.widgets.line_view import LineView
from console.ui.widgets.typed_search import TypedSearch, marked
from console.view.log_file import (
    LONGEST_SHOWN,
    AllOf,
    Level,
    LogFile,
    LogLine,
    Progress,
    search_for,
)
from console.view.run_view import RunView
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control

_PAGE_LINES = 300
_MOST_LINES = 3000
"""Held at a time: what lies further is read again where it is come to."""
_PROGRESS_SECONDS = 0.2

Lines = list[LogLine]


class LogPane(LineView):
    """Follows the end unless the operator scrolled up; never reads in the loop of the screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.LOG)

    class PagerWanted(Message):
        """The operator wants to read the log by this command."""

        def __init__(self, command: list[str]) -> None:
            super().__init__()
            self.command = command

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._tail: tuple[str, ...] = ()
        self._log: LogFile | None = None
        self._lines: Lines | None = None
        """What is shown of another place, or of one level; `None`: the tail."""
        self._is_following = True
        self._level = Level.ALL
        self._search = TypedSearch()
        self._found: int | None = None
        """The byte of the line that was found."""
        self._identity: tuple[int, int] | None = None
        self._shift = 0
        """Cells by which lines are moved to the left."""
        self._read_to = 0
        """The byte up to which lines of a level were looked for while following."""
        self._is_reading = False
        self._stop = Event()
        self._told = ""

    def show(self, view: RunView) -> None:
        """Show this view's last lines."""
        is_new, self._tail = view.log_tail is not self._tail, view.log_tail
        if self._log is None or self._log.path.parent != view.path:
            self._log = LogFile(RunDirectory(view.path).log)
        if is_new and self._lines is not None and self._is_replaced(self._log):
            self.action_follow()
            self._told = "the log was replaced"
        elif is_new:
            self._read_on()
        self._draw()

    def on_resize(self) -> None:
        super().on_resize()
        if self._is_following:
            self.scroll_end(animate=False, immediate=True, force=True)

    def action_follow(self) -> None:
        """Back to the end, and stay there."""
        self._cancel()
        self._is_following, self._found, self._lines = True, None, None
        if self._level is not Level.ALL:
            self._read_tail()
        self._draw()

    def action_scroll_end(self) -> None:
        """The end of the log, whatever was shown."""
        self.action_follow()

    def action_scroll_up(self) -> None:
        self._leave_end()
        super().action_scroll_up()
        self._read_near()

    def action_page_up(self) -> None:
        self._leave_end()
        super().action_page_up()
        self._read_near()

    def action_scroll_down(self) -> None:
        super().action_scroll_down()
        self._read_near()

    def action_page_down(self) -> None:
        super().action_page_down()
        self._read_near()

    def on_mouse_scroll_up(self) -> None:
        self._leave_end()
        self._read_near()

    def on_mouse_scroll_down(self) -> None:
        self._read_near()

    def action_scroll_home(self) -> None:
        """The log's first line."""
        self._is_following = False
        self._go_to(0)

    def action_shift(self, by: int) -> None:
        """Show more of long lines, or go back."""
        half = max(self.line_width // 2, 1)
        self._shift = min(max(self._shift + by * half, 0), LONGEST_SHOWN)
        self._draw()

    def action_next_level(self) -> None:
        """All lines, warnings, or errors only."""
        self._level = self._level.next
        self.action_follow()

    def action_search(self) -> None:
        """Type what to find."""
        self._search.begin()
        self._draw()

    def on_key(self, event: events.Key) -> None:
        """Letters are part of the search while one is typed."""
        if self._search.takes(event):
            self._found = None
            if event.key == "enter":
                self.action_find(-1)
            self._draw()

    def action_find(self, by: int) -> None:
        """Go to the match before (-1) or after (1) this place."""
        if self._log is None or not self._search.text:
            return
        log, wanted = self._log, (search_for(self._search.text), *self._level.wanted)
        here = self._found if self._found is not None else self._bottom()
        if by < 0:
            self._read(lambda told: log.before(here, 1, wanted, told), self._go_to_match)
        else:
            start = self._line_end(here)
            self._read(lambda told: log.after(start, 1, wanted, told), self._go_to_match)

    def action_stop_reading(self) -> None:
        """End a search under way."""
        self._cancel()
        self._draw()

    def select(self, step: int | None) -> None:
        """Show the log around this step; `None` follows the end."""
        if step is None:
            self.action_follow()
        elif self._log is not None:
            log = self._log
            self._read(lambda told: [p for p in (log.place_of(step),) if p], self._go_to_step)

    def action_page_here(self) -> None:
        """Ask for the operator's pager at the line on top."""
        if self._log is not None:
            command = pager_command(os.environ, self._log.path, self._top())
            self.post_message(self.PagerWanted(command))

    def _draw(self) -> None:
        count = len(self._tail) if self._lines is None else len(self._lines)
        self.show_titles("5 log", self._subtitle())
        if not count:
            word = "nothing in trainer.log yet" if not self._tail else "no such line"
            self.show_lines(1, lambda _: Content.styled(word, DIM))
            return
        self.show_lines(count, self._content)
        if self._is_following:
            self.scroll_end(animate=False, immediate=True, force=True)

    def _subtitle(self) -> str:
        if self._search.is_typing:
            return f"/{escape_control(self._search.text)}▏"
        place = "" if self._is_following else "F follows"
        level = "" if self._level is Level.ALL else self._level.value
        words = f"/{escape_control(self._search.text)}" if self._search.text else ""
        return " · ".join(each for each in (level, words, self._told, place) if each)

    def _content(self, index: int) -> Content:
        text = self._tail[index] if self._lines is None else self._lines[index].text
        shown = escape_control(text, keep_newlines=False)
        line = Content(shown[self._shift : self._shift + self.line_width + 1])
        line = marked(line, escape_control(self._search.text))
        is_found = self._lines is not None and self._lines[index].start == self._found
        return line.stylize("bold underline") if is_found else line

    def _top(self) -> int:
        """The byte where the line on top begins."""
        lines = self._lines or []
        if self._found is not None:
            return self._found
        if lines:
            return lines[min(self.scroll_offset.y, len(lines) - 1)].start
        tail = self._log.before(self._log.size(), max(self.rows_in_sight, 1)) if self._log else []
        return tail[0].start if tail else 0

    def _bottom(self) -> int:
        """The byte behind the last line in sight."""
        lines = self._lines or []
        last = min(self.scroll_offset.y + self.rows_in_sight, len(lines)) - 1
        return lines[last].end if lines else self._log.size() if self._log else 0

    def _line_end(self, start: int) -> int:
        return next((line.end for line in self._lines or [] if line.start == start), start)

    def _leave_end(self) -> None:
        """Hold the lines that are in sight, whatever is written behind them."""
        if not self._is_following or self._log is None:
            return
        self._is_following = False
        if self._lines is None and (lines := self._log.before(self._log.size(), len(self._tail))):
            self._lines, self._identity = lines, self._log.identity()
        self._draw()

    def _read_near(self) -> None:
        """Lines before the first or behind the last, where the view has come to them."""
        lines, log = self._lines, self._log
        if not lines or log is None or self._is_reading or self._is_following:
            return
        first, end, wanted = lines[0].start, lines[-1].end, self._level.wanted
        margin, y = self.rows_in_sight, self.scroll_target_y
        if y < margin and first > 0:
            self._read(lambda told: log.before(first, _PAGE_LINES, wanted, told), self._put_before)
        elif y + 2 * margin > len(lines) and end < log.size():
            self._read(lambda told: log.after(end, _PAGE_LINES, wanted, told), self._put_behind)

    def _read_tail(self) -> None:
        """The last lines of the level."""
        if (log := self._log) is not None:
            wanted = self._level.wanted
            self._identity, self._read_to = log.identity(), log.size()
            end = self._read_to
            self._read(lambda told: log.before(end, _PAGE_LINES, wanted, told), self._replace)

    def _read_on(self) -> None:
        """What a level has got since it was read; after the reading under way."""
        is_behind = self._is_following and self._level is not Level.ALL and not self._is_reading
        if (log := self._log) is None or not is_behind or log.size() <= self._read_to:
            return
        wanted, start, self._read_to = self._level.wanted, self._read_to, log.size()
        self._read(lambda told: log.after(start, _PAGE_LINES, wanted, told), self._put_behind)

    def _is_replaced(self, log: LogFile) -> bool:
        """Whether the places that are known are of a file that isn't there any more."""
        end = self._lines[-1].end if self._lines else 0
        return log.identity() != self._identity or log.size() < end

    def _replace(self, lines: Lines) -> None:
        self._lines = lines

    def _put_before(self, lines: Lines) -> None:
        self._lines = (lines + (self._lines or []))[:_MOST_LINES]
        self._draw()
        self.scroll_relative(y=len(lines), animate=False, immediate=True, force=True)

    def _put_behind(self, lines: Lines) -> None:
        held = (self._lines or []) + lines
        self._lines = held[-_MOST_LINES:]
        if (n_gone := len(held) - len(self._lines)) and not self._is_following:
            self.scroll_relative(y=-n_gone, animate=False, immediate=True, force=True)

    def _go_to_match(self, lines: Lines) -> None:
        if lines:
            self._go_to(lines[0].start, found=lines[0].start)
        else:
            self._told = "no further match"

    def _go_to_step(self, lines: Lines) -> None:
        if lines:
            self._go_to(lines[0].start, found=lines[0].start)
        else:
            self._told = "no line names that step"

    def _go_to(self, start: int, found: int | None = None) -> None:
        """Show the lines around byte `start`, where a line begins."""
        if (log := self._log) is None:
            return
        wanted: AllOf = self._level.wanted
        margin = max(self.rows_in_sight, 1)

        def around(told: Progress) -> Lines:
            before = log.before(start, margin, wanted, told)
            return before + log.after(start, _PAGE_LINES, wanted, told)

        def place(lines: Lines) -> None:
            self._is_following, self._found, self._lines = False, found, lines
            self._identity = log.identity()
            self._draw()
            row = sum(line.start < start for line in lines) - margin // 3
            self.scroll_to(y=max(row, 0), animate=False, immediate=True, force=True)

        self._read(around, place)

    def _cancel(self) -> None:
        self._stop.set()
        self._is_reading, self._told = False, ""

    def _read(self, read: Callable[[Progress], Lines], place: Callable[[Lines], None]) -> None:
        """Read in a thread and place what came, unless something else was asked for since."""
        self._cancel()
        self._stop, self._is_reading = Event(), True
        self.run_worker(self._reading(read, place, self._stop), group="log", exclusive=False)

    async def _reading(
        self, read: Callable[[Progress], Lines], place: Callable[[Lines], None], stop: Event
    ) -> None:
        reached: list[int] = []

        def told(at: int) -> bool:
            reached[:] = [at]
            return not stop.is_set()

        task = asyncio.create_task(asyncio.to_thread(read, told))
        try:
            while not (await asyncio.wait((task,), timeout=_PROGRESS_SECONDS))[0]:
                if not stop.is_set() and reached:
                    self._told = f"at {formatting.size(reached[0])}, Esc ends"
                    self._draw()
            lines = task.result()
        finally:
            stop_was_set = stop.is_set()
            stop.set()
        if not stop_was_set:
            self._is_reading, self._told = False, ""
            place(lines)
            self._draw()
            self._read_on()

"""A log of any size in a pane: its end as it grows, or the lines around any other place."""

from textual.content import Content

from console.ui.theme import DIM
from console.ui.widgets.line_view import LineView
from console.ui.widgets.log_reader import Lines, LogReader
from console.ui.widgets.log_rows import LogRows
from console.ui.widgets.typed_search import TypedSearch, marked
from console.view.log_file import LONGEST_SHOWN, AllOf, Level, LogFile, Progress
from console.view.run_view import RunView
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control

_PAGE_LINES = 300
_MOST_LINES = 3000
"""Held at a time: what lies further is read again where it is come to."""


class LogView(LineView):
    """Follows the end unless the operator scrolled up; never reads in the loop of the screen."""

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
        self._wraps = False
        self._rows = LogRows((), 1)
        self._read_to = 0
        """The byte up to which lines of a level were looked for while following."""
        self._reader = LogReader(self, self._show_read)

    def show(self, view: RunView) -> None:
        """Show this view's last lines."""
        is_new, self._tail = view.log_tail is not self._tail, view.log_tail
        if self._log is None or self._log.path.parent != view.path:
            self._log = LogFile(RunDirectory(view.path).log)
        if is_new and self._lines is not None and self._is_replaced(self._log):
            self.follow()
            self._reader.told = "the log was replaced"
        elif is_new:
            self._read_on()
        self._draw()

    def on_resize(self) -> None:
        super().on_resize()
        self._lay_out()
        self._read_near()

    def follow(self) -> None:
        """Back to the end, and stay there."""
        self._reader.cancel()
        self._is_following, self._found, self._lines = True, None, None
        if self._level is not Level.ALL:
            self._read_tail()
        self._draw()

    def action_scroll_end(self) -> None:
        """The end of the log, whatever was shown."""
        self.follow()

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

    def action_toggle_wrap(self) -> None:
        """Long lines over several rows, or cut at the pane's width."""
        self._wraps, self._shift = not self._wraps, 0
        self._lay_out()

    def _lay_out(self) -> None:
        """Put the lines into rows anew; the one on top stays there."""
        line = self._rows.line_at(self.scroll_offset.y)
        self._draw()
        if not self._is_following:
            self._scroll_to_row(self._rows.row_of(line))

    def _subtitle(self) -> str:
        """What the border says of what is shown."""
        return self._reader.told

    def _draw(self) -> None:
        texts = self._tail if self._lines is None else [line.text for line in self._lines]
        self._rows = LogRows(texts, self.line_width, wraps=self._wraps, shift=self._shift)
        self.show_titles("5 log", self._subtitle())
        if not texts:
            word = "nothing in trainer.log yet" if not self._tail else "no such line"
            self.show_lines(1, lambda _: Content.styled(word, DIM))
            return
        self.show_lines(self._rows.count, self._content)
        if self._is_following:
            self.scroll_end(animate=False, immediate=True, force=True)

    def _content(self, row: int) -> Content:
        part = self._rows.part_at(row)
        line = marked(Content(self._rows.text(part.line)), escape_control(self._search.text))
        shown = line[part.start : part.end]
        is_found = self._lines is not None and self._lines[part.line].start == self._found
        return shown.stylize("bold underline") if is_found else shown

    def _top(self) -> int:
        """The byte where the line on top begins."""
        lines = self._lines or []
        if self._found is not None:
            return self._found
        if lines:
            return lines[self._rows.line_at(self.scroll_offset.y)].start
        tail = self._log.before(self._log.size(), max(self.rows_in_sight, 1)) if self._log else []
        return tail[0].start if tail else 0

    def _bottom(self) -> int:
        """The byte behind the last line in sight."""
        lines = self._lines or []
        last = self._rows.line_at(self.scroll_offset.y + self.rows_in_sight - 1)
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
        if not lines or log is None or self._reader.is_reading or self._is_following:
            return
        first, end, wanted = lines[0].start, lines[-1].end, self._level.wanted
        margin, y = self.rows_in_sight, self.scroll_target_y
        if y < margin and first > 0:
            self._reader.read(
                lambda told: log.before(first, _PAGE_LINES, wanted, told), self._put_before
            )
        elif y + 2 * margin > self._rows.count and end < log.size():
            self._reader.read(
                lambda told: log.after(end, _PAGE_LINES, wanted, told), self._put_behind
            )

    def _read_tail(self) -> None:
        """The last lines of the level."""
        if (log := self._log) is not None:
            wanted = self._level.wanted
            self._identity, self._read_to = log.identity(), log.size()
            end = self._read_to
            self._reader.read(
                lambda told: log.before(end, _PAGE_LINES, wanted, told), self._replace
            )

    def _read_on(self) -> None:
        """What a level has got since it was read; after the reading under way."""
        is_behind = self._is_following and self._level is not Level.ALL
        if not is_behind or self._reader.is_reading:
            return
        if (log := self._log) is None or log.size() <= self._read_to:
            return
        wanted, start, self._read_to = self._level.wanted, self._read_to, log.size()
        self._reader.read(
            lambda told: log.after(start, _PAGE_LINES, wanted, told), self._put_behind
        )

    def _is_replaced(self, log: LogFile) -> bool:
        """Whether the places that are known are of a file that isn't there any more."""
        end = self._lines[-1].end if self._lines else 0
        return log.identity() != self._identity or log.size() < end

    def _replace(self, lines: Lines) -> None:
        self._lines = lines

    def _put_before(self, lines: Lines) -> None:
        self._lines = (lines + (self._lines or []))[:_MOST_LINES]
        self._draw()
        self._scroll_by(self._rows.row_of(len(lines)))

    def _put_behind(self, lines: Lines) -> None:
        held = (self._lines or []) + lines
        self._lines = held[-_MOST_LINES:]
        if (n_gone := len(held) - len(self._lines)) and not self._is_following:
            self._scroll_by(-self._rows.row_of(n_gone))

    def _go_to_place(self, lines: Lines, *, why_not: str) -> None:
        if lines:
            self._go_to(lines[0].start, found=lines[0].start)
        else:
            self._reader.told = why_not

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
            at = sum(line.start < start for line in lines)
            self._scroll_to_row(self._rows.row_of(at) - margin // 3)

        self._reader.read(around, place)

    def _scroll_to_row(self, row: int) -> None:
        self.scroll_to(y=max(row, 0), animate=False, immediate=True, force=True)

    def _scroll_by(self, rows: int) -> None:
        self.scroll_relative(y=rows, animate=False, immediate=True, force=True)

    def _show_read(self) -> None:
        """What was read is in its place: draw it, and read what came meanwhile."""
        self._draw()
        self._read_on()

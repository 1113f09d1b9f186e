"""What a step was fed: its rows, where they are from, their text, and what each cost."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, TypeAlias

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import var
from textual.screen import ModalScreen
from textual.widgets import Static

from console import formatting
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.framed import put, show_title
from console.ui.theme import AMBER, DIM, GOOD, RED
from console.ui.widgets.cursor_list import CursorList
from console.ui.widgets.line_view import LineView
from console.ui.widgets.text import foreign, left, right
from console.view.batch_words import place_of, places_of, proof_words
from trainer.rundir.batch import Batch, BatchRow
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control
from trainer.rundir.outcomes import RunError

Ask: TypeAlias = Callable[[int, bool], Awaitable[Batch]]
"""A step's batch; with its losses or without. Raises `RunError` or `OSError`."""

_HINT = "←→ step   ↑↓ row   Space, Backspace its text   l losses   Esc back"
_TITLES = "  row    loss before → after   source row  seen  from"
_LOSS_CELLS, _ROW_CELLS, _SEEN_CELLS = 21, 13, 6


class BatchScreen(ModalScreen[None]):
    """Walks from step to step; losses are taken only where they are asked for."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.BATCH)

    step: var[int] = var(0, init=False)
    fed: var[Batch | None] = var(None, init=False)

    def __init__(self, run: RunDirectory, step: int, ask: Ask) -> None:
        super().__init__()
        self._run = run
        self._ask = ask
        self.set_reactive(BatchScreen.step, step)

    def compose(self) -> ComposeResult:
        with Container(id="batch"):
            yield Static(id="batch-proof", markup=False)
            yield Static(Content.styled(_TITLES, DIM), id="batch-titles", markup=False)
            yield CursorList(id="batch-rows")
            text = LineView(id="batch-text")
            text.can_focus = False
            yield text
            yield Static(Content.styled(_HINT, DIM), id="batch-hint", markup=False)

    def on_mount(self) -> None:
        self.watch(self._rows, "cursor", lambda _: self._draw_text(), init=False)
        self.watch_step()

    def watch_step(self) -> None:
        self._look(with_losses=False)

    def watch_fed(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def action_walk(self, by: int) -> None:
        """The step before (-1) or after (1)."""
        self.step = max(1, self.step + by)

    def action_losses(self) -> None:
        """Ask what each row cost."""
        if self.fed is not None and self.fed.before is None and self.fed.after is None:
            self._say("taking each row's loss at the checkpoints before and after …")
            self._look(with_losses=True)

    def action_scroll_text(self, by: int) -> None:
        """The text of the row under the cursor, by most of a screenful."""
        text = self._text
        text.scroll_relative(y=by * max(text.rows_in_sight - 1, 1), animate=False)

    @work(group="batch", exclusive=True)
    async def _look(self, *, with_losses: bool) -> None:
        step = self.step
        if not with_losses:
            self._say(f"drawing the rows of step {step:,} anew …")
        try:
            batch = await self._ask(step, with_losses)
        except (RunError, OSError) as error:
            self.fed = None
            self._say(str(error), AMBER)
            return
        self.fed = batch.worst_first()

    def _say(self, words: str, style: str = DIM) -> None:
        show_title(self.query_one("#batch"), f"Step {self.step:,}")
        put(self.query_one("#batch-proof", Static), Content.styled(foreign(words), style))

    def _draw(self) -> None:
        batch = self.fed
        if batch is None:
            self._rows.show_rows(0, lambda _: Content(), 0)
            self._text.show_lines(0, lambda _: Content())
            return
        by = f"{foreign(batch.arm)}, loss {formatting.loss(batch.loss)}"
        show_title(self.query_one("#batch"), f"Step {batch.step:,} was fed by {by}")
        style = {True: GOOD, False: RED, None: DIM}[batch.is_proven]
        proof = Content.styled(foreign(proof_words(self._run, batch)), style)
        put(self.query_one("#batch-proof", Static), proof)
        self._rows.show_rows(len(batch.rows), self._line, self._rows.cursor)
        self._draw_text()

    def _line(self, index: int) -> Content:
        assert self.fed is not None
        row = self.fed.rows[index]
        return Content.assemble(
            f"{row.row:>5}  ",
            right(_losses(row), _LOSS_CELLS),
            (right(f"{row.source_row:,}", _ROW_CELLS), DIM),
            (right(f"{row.seen}×", _SEEN_CELLS), DIM),
            "  ",
            foreign(places_of(row)),
        )

    def _draw_text(self) -> None:
        at = self._rows.cursor
        if self.fed is None or at >= len(self.fed.rows):
            return
        lines = list(_text_lines(self.fed.rows[at], self._text.line_width))
        self._text.show_lines(len(lines), lines.__getitem__)
        self._text.scroll_home(animate=False)

    @property
    def _rows(self) -> CursorList:
        return self.query_one("#batch-rows", CursorList)

    @property
    def _text(self) -> LineView:
        return self.query_one("#batch-text", LineView)


def _losses(row: BatchRow) -> str:
    if row.loss_before is None and row.loss_after is None:
        return ""
    return f"{formatting.loss(row.loss_before)} → {formatting.loss(row.loss_after)}"


def _text_lines(row: BatchRow, width: int) -> list[Content]:
    lines = []
    for document in row.documents:
        lines.append(Content.styled(left(foreign(place_of(document)), max(width, 1)).rstrip(), DIM))
        text = escape_control(document.text.expandtabs(4))
        for line in text.split("\n"):
            lines += Content(line).wrap(max(width, 1)) if line else [Content()]
    return lines

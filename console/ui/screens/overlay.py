"""The dialog in which runs are chosen that are laid over the chart."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from console.fork.beside import Beside
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.screens.framed import put
from console.ui.theme import AMBER, DIM
from console.ui.widgets.cursor_list import CursorList
from console.ui.widgets.fields import LabelledField
from console.ui.widgets.text import foreign, left

MOST = 3
"""Runs that are laid over at once: with more nobody tells the curves apart."""
_NAME_CELLS = 28


class OverlayScreen(ModalScreen[tuple[Path, ...]]):
    """Ends with the directories that were chosen; with none if it is left."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.OVERLAY)

    def __init__(self, read: Callable[[], tuple[Beside, ...]]) -> None:
        """`read` lists the runs there are; it may block, and raise `OSError`."""
        super().__init__()
        self._read = read
        self._runs: tuple[Beside, ...] = ()
        self._marked: list[Path] = []

    def compose(self) -> ComposeResult:
        with Container(id="overlay") as box:
            box.border_title = "Lay other runs over this one"
            yield CursorList()
            yield LabelledField("or a path", id="overlay-path")
            yield Static(id="overlay-words", markup=False)
            yield Static(
                Content.styled(
                    f"Enter lays over   Space marks several (up to {MOST})   Tab path   Esc back",
                    DIM,
                ),
                id="overlay-keys",
                markup=False,
            )

    def on_mount(self) -> None:
        self._show_words("looking for runs")
        self._list()

    @work(group="beside")
    async def _list(self) -> None:
        try:
            self._runs = await asyncio.to_thread(self._read)
        except OSError as error:
            self._say(str(error))
            return
        self._say("" if self._runs else "no other run lies beside this one")
        self._draw()

    def action_mark(self) -> None:
        """Mark the run under the cursor, or take the mark back."""
        here = self._here()
        if here is None:
            return
        if here in self._marked:
            self._marked.remove(here)
        elif len(self._marked) < MOST:
            self._marked.append(here)
        else:
            self._say(f"{MOST} runs at once are the most")
        self._draw()

    def action_lay_over(self) -> None:
        """End with what is marked, or else with the run under the cursor."""
        here = self._here()
        chosen = tuple(self._marked) or ((here,) if here is not None else ())
        if chosen:
            self.dismiss(chosen)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A directory that was typed, with those that are marked."""
        event.stop()
        if not event.value.strip():
            self.action_lay_over()
            return
        typed = Path(event.value.strip()).expanduser()
        self.dismiss((*self._marked[: MOST - 1], typed))

    def _here(self) -> Path | None:
        at = self.query_one(CursorList).cursor
        return self._runs[at].path if at < len(self._runs) else None

    def _draw(self) -> None:
        rows = self.query_one(CursorList)
        rows.show_rows(len(self._runs), self._line, rows.cursor)

    def _line(self, index: int) -> Content:
        run = self._runs[index]
        mark = "x" if run.path in self._marked else " "
        name = left(foreign(run.name), _NAME_CELLS)
        return Content.assemble(f"[{mark}] {name}  ", (foreign(run.words), DIM))

    def _say(self, problem: str) -> None:
        self._show_words(problem, AMBER)

    def _show_words(self, words: str, style: str = DIM) -> None:
        put(self.query_one("#overlay-words", Static), Content.styled(foreign(words), style))

"""The samples pane: what the model writes, the newest first, and a way back through all of them."""

from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.reactive import var

from console import formatting
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.theme import ACCENT, DIM
from console.ui.widgets.audit_lines import parts_content, score_content, text_lines
from console.ui.widgets.line_view import LineView
from console.ui.widgets.text import foreign, levels
from console.view.run_view import Audit, RunView


class SamplesPane(LineView):
    """Shows one audit; stays with the newest until the operator walks back."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.SAMPLES)

    audits: var[tuple[Audit, ...]] = var(())
    chosen: var[tuple[int, float | None] | None] = var(None)
    """Which audit is shown, by step and time; `None`: always the newest."""

    def show(self, view: RunView) -> None:
        """Show this view's samples."""
        self.audits = view.audits

    def watch_audits(self) -> None:
        self._draw()

    def watch_chosen(self) -> None:
        self._draw()
        self.scroll_home(animate=False)

    def on_resize(self) -> None:
        self._draw()

    def action_older(self) -> None:
        """Walk one audit back."""
        self._walk(-1)

    def action_newer(self) -> None:
        """Walk one audit forward."""
        self._walk(+1)

    def action_newest(self) -> None:
        """Go to the newest and follow it."""
        self.chosen = None

    def _index(self) -> int:
        if self.chosen is not None:
            for index, audit in enumerate(self.audits):
                if (audit.step, audit.t) == self.chosen:
                    return index
        return len(self.audits) - 1

    def _walk(self, by: int) -> None:
        index = min(max(self._index() + by, 0), len(self.audits) - 1)
        if index >= 0:
            audit = self.audits[index]
            is_newest = index == len(self.audits) - 1
            self.chosen = None if is_newest else (audit.step, audit.t)

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        index = self._index()
        lines = self._lines(index) if self.audits else [Content.styled("no sample yet", DIM)]
        position = f"{index + 1:,} of {len(self.audits):,}" if self.audits else ""
        self.show_titles("2 samples", position)
        self.show_lines(len(lines), lines.__getitem__)

    def _lines(self, index: int) -> list[Content]:
        audit, width = self.audits[index], self.line_width
        head = Content.assemble(
            (f"step {formatting.steps(audit.step)}", "bold"),
            (f"  {foreign(audit.cause)}   " if audit.cause else "   ", DIM),
            score_content(audit),
        )
        return [
            head,
            parts_content(audit),
            self._trend(index, width),
            Content(),
            *text_lines(audit, width),
        ]

    def _trend(self, index: int, width: int) -> Content:
        """The scores up to this audit, one column each, this one in the accent colour."""
        room = max(min(width - 8, 60), 1)
        scores = [each.score for each in self.audits[max(index + 1 - room, 0) : index + 1]]
        columns = levels([score or 0.0 for score in scores], 0.0, 100.0)
        return Content.assemble(("scores ", DIM), (columns[:-1], DIM), (columns[-1:], ACCENT))

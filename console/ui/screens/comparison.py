"""Two audits side by side: a checkpoint's own and the one before."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widgets import Static

from console import formatting
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.theme import DIM
from console.ui.widgets.audit_lines import (
    PARTS,
    change_content,
    part_value,
    score_style,
    text_lines,
)
from console.ui.widgets.line_view import LineView
from console.ui.widgets.sample_columns import prompt_name
from console.ui.widgets.text import foreign, left, right
from console.view.run_view import Audit

_LABEL_CELLS, _VALUE_CELLS = 16, 14


class AuditText(LineView):
    """The text of one audit, wrapped to the width there is."""

    audit: reactive[Audit | None] = reactive(None, repaint=False)

    def watch_audit(self) -> None:
        self._draw()
        self.scroll_home(animate=False)

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        width = self.line_width
        empty = [Content.styled("no audit before this one", DIM)]
        lines = text_lines(self.audit, width) if self.audit else empty
        self.show_titles(f"step {formatting.steps(self.audit.step)}" if self.audit else "")
        self.show_lines(len(lines), lines.__getitem__)


class ComparisonScreen(ModalScreen[None]):
    """Walks through the audits with left and right; the newer of the pair is the chosen one."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.AUDITS)

    index: reactive[int] = reactive(0, init=False)
    prompt: reactive[str | None] = reactive(None, init=False)
    """Whose samples are compared, where the audits have them; `None`: the first of each."""

    def __init__(
        self, audits: Sequence[Audit], chosen: Audit, *, against: Audit | None = None
    ) -> None:
        """`audits` by ascending step, `chosen` among them; `against`: in place of the one before,
        whichever is chosen.
        """
        super().__init__()
        self._against = against
        self._audits = audits
        self.set_reactive(ComparisonScreen.index, audits.index(chosen))

    def compose(self) -> ComposeResult:
        with Container(id="comparison") as box:
            box.border_title = "Sample audits"
            yield Static(id="comparison-table", markup=False)
            with Container(id="comparison-texts"):
                yield AuditText(id="audit-before")
                yield AuditText(id="audit-chosen")
            yield Static(id="comparison-hint", markup=False)

    def on_mount(self) -> None:
        self._draw()
        self.query_one("#audit-chosen").focus()

    def watch_index(self) -> None:
        self._draw()

    def watch_prompt(self) -> None:
        self._draw()

    def action_turn(self) -> None:
        """Compare the samples of the next prompt, in a circle."""
        chosen = self._audits[self.index].led_by(self.prompt)
        if chosen.more:
            self.prompt = chosen.more[0].prompt
        else:
            self.notify("this audit has one prompt only", markup=False)

    def action_walk(self, by: int) -> None:
        """Show the pair before or after."""
        self.index = min(max(self.index + by, 0), len(self._audits) - 1)

    def _draw(self) -> None:
        chosen = self._audits[self.index].led_by(self.prompt)
        before = self._against or (self._audits[self.index - 1] if self.index else None)
        before = before and before.led_by(self.prompt)
        turn = "t next prompt   " if chosen.more else ""
        hint = Content.styled(f"← → older, newer   {turn}Tab other text   Esc back", DIM)
        self.query_one("#comparison-hint", Static).update(hint)
        self.query_one("#comparison-table", Static).update(comparison_table(before, chosen))
        self.query_one("#audit-before", AuditText).audit = before
        self.query_one("#audit-chosen", AuditText).audit = chosen


def comparison_table(before: Audit | None, chosen: Audit) -> Content:
    """Scores, their parts and val_loss of both, and what changed."""
    rows = [_heading(before, chosen)]
    scores = (before.score if before else None, chosen.score)
    rows.append(_row("score", scores, digits=1, better=1, style=score_style(chosen.score)))
    for part in PARTS:
        values = (part_value(before, part) if before else None, part_value(chosen, part))
        rows.append(_row(f"{part.name} /{part.points}", values, digits=1, better=1))
    losses = (before.val_loss if before else None, chosen.val_loss)
    rows.append(_row("val_loss", losses, digits=4, better=-1))
    return Content("\n").join(rows)


def _heading(before: Audit | None, chosen: Audit) -> Content:
    steps = [f"step {formatting.steps(each.step)}" if each else "" for each in (before, chosen)]
    cells = "".join(right(step, _VALUE_CELLS) for step in steps)
    label = left(prompt_name(chosen.prompt) if chosen.more else "", _LABEL_CELLS - 1) + " "
    cause = f"   {foreign(chosen.cause)}" if chosen.cause else ""
    change = right("change", _VALUE_CELLS)
    return Content.styled(f"{label}{cells}{change}{cause}", DIM)


def _row(
    name: str,
    values: tuple[float | None, float | None],
    *,
    digits: int,
    better: int,
    style: str = "",
) -> Content:
    before, chosen = values
    change = change_content(chosen, before, digits, better=better)
    return Content.assemble(
        (name.ljust(_LABEL_CELLS), DIM),
        right(formatting.number(before, digits), _VALUE_CELLS),
        (right(formatting.number(chosen, digits), _VALUE_CELLS), style),
        " " * max(_VALUE_CELLS - change.cell_length, 0),
        change,
    )

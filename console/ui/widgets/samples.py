"""The samples pane: what the model writes, and the scores of the whole run above it."""

import os
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.reactive import var

from console import formatting
from console.chart.glyphs import choose_glyphs
from console.chart.score_dots import Scores
from console.operations.actions import Place
from console.ui.keys import bindings_at
from console.ui.messages import StepChosen
from console.ui.theme import DIM
from console.ui.widgets.audit_lines import parts_content, repeated_content, score_content
from console.ui.widgets.line_view import LineView
from console.ui.widgets.sample_columns import columns_in, sample_columns
from console.ui.widgets.score_lines import Scored, dot_lines, part_lines, scores_over
from console.ui.widgets.text import Piece, foreign, line
from console.ui.widgets.typed_search import TypedSearch
from console.view.run_view import Audit, RunView, Sample
from trainer.rundir.names import escape_control

_SCORE_ROWS = 3
_ROWS_WITH_SCORES = 12
"""In a lower pane one row of scores is all there is room for."""


class SamplesPane(LineView):
    """Shows one audit: that of the chosen step or the one before it, else the newest.

    Of several prompts one leads: it stands at the left, and the scores above are its own.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.SAMPLES)

    audits: var[tuple[Audit, ...]] = var(())
    step: var[int | None] = var(None)
    """The audit at or before it is shown; `None`: always the newest."""
    prompt: var[str | None] = var(None)
    """The one that leads, where an audit has it; `None`: the audit's first."""
    shows_parts: var[bool] = var(False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._glyphs = choose_glyphs(os.environ)
        self._scored: Scored = ()
        """Of each audit the sample behind the prompt that leads, if it has one."""
        self._scores: Scores = scores_over(())
        self._can_turn = False
        self._search = TypedSearch()
        self._told = ""

    def show(self, view: RunView) -> None:
        """Show this view's samples."""
        self.audits = view.audits

    def select(self, step: int | None) -> None:
        """Show the sample of the checkpoint at or before this step."""
        self.step = step

    def watch_audits(self) -> None:
        self._lead()

    def watch_prompt(self) -> None:
        self._lead()
        self.scroll_home(animate=False)

    def watch_step(self) -> None:
        self._told = ""
        self._draw()
        self.scroll_home(animate=False)

    def watch_shows_parts(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def on_key(self, event: events.Key) -> None:
        """Letters are part of the search while one is typed."""
        if self._search.takes(event):
            self._told = ""
            if event.key == "enter":
                self._find(range(self._index(), -1, -1))
            self._draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Turn only where there is more than one prompt."""
        return action != "turn" or self._is_of_several()

    def action_turn(self) -> None:
        """Let the next prompt lead, in a circle."""
        if self._is_of_several():
            self.prompt = self._led(self._index()).more[0].prompt

    def action_older(self) -> None:
        """Walk one audit back."""
        self._go_to(self._index() - 1)

    def action_newer(self) -> None:
        """Walk one audit forward."""
        self._go_to(self._index() + 1)

    def action_newest(self) -> None:
        """Go to the newest and follow it."""
        self._choose(None)

    def action_toggle_parts(self) -> None:
        """The scores' four parts over the run, or the scores."""
        self.shows_parts = not self.shows_parts

    def action_search(self) -> None:
        """Type what to find."""
        self._search.begin()
        self._draw()

    def action_find(self, by: int) -> None:
        """Go to the audit before (-1) or after (1) this one that holds what was searched for."""
        index = self._index()
        ahead = range(index - 1, -1, -1) if by < 0 else range(index + 1, len(self.audits))
        self._find(ahead)

    def _find(self, order: range) -> None:
        if not self._search.text:
            return
        found = next((index for index in order if self._holds(self.audits[index])), None)
        self._told = "" if found is not None else "no further match"
        if found is not None:
            self._go_to(found)
            self._turn_to_match()
        self._draw()

    def _holds(self, audit: Audit) -> bool:
        return any(self._is_found(sample) for sample in audit.samples)

    def _is_found(self, sample: Sample) -> bool:
        return self._search.is_in(sample.prompt + sample.text)

    def _turn_to_match(self) -> None:
        """Let a sample lead that holds what was found, if none in sight does."""
        audit = self._led(self._index())
        found = [at for at, sample in enumerate(audit.samples) if self._is_found(sample)]
        if found and found[0] >= columns_in(audit, self.line_width):
            self.prompt = audit.samples[found[0]].prompt

    def _is_of_several(self) -> bool:
        index = self._index()
        return index >= 0 and bool(self.audits[index].more)

    def _lead(self) -> None:
        prompt, audits = self.prompt, self.audits
        found = (next((s for s in a.samples if s.prompt == prompt), None) for a in audits)
        of_each = audits if prompt is None else found
        self._scored = [(a.step, s) for a, s in zip(audits, of_each, strict=True) if s is not None]
        self._scores = scores_over(self._scored)
        self._draw()

    def _led(self, index: int) -> Audit:
        """The audit, led by the chosen prompt if it has it."""
        return self.audits[index].led_by(self.prompt)

    def _index(self) -> int:
        """Of the audit that is shown; -1 where there is none at or before the step."""
        if self.step is None:
            return len(self.audits) - 1
        shown = (i for i in reversed(range(len(self.audits))) if self.audits[i].step <= self.step)
        return next(shown, -1)

    def _go_to(self, index: int) -> None:
        if self.audits:
            index = min(max(index, 0), len(self.audits) - 1)
            is_newest = index == len(self.audits) - 1
            self._choose(None if is_newest else self.audits[index].step)

    def _choose(self, step: int | None) -> None:
        self.step = step
        self.post_message(StepChosen(step))

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        index = self._index()
        if self._can_turn != self._is_of_several():
            self._can_turn = not self._can_turn
            self.refresh_bindings()
        if index >= 0:
            lines = self._lines(index)
        elif self.audits:
            lines = [Content.styled(f"no sample up to step {formatting.steps(self.step)}", DIM)]
        else:
            lines = [Content.styled("no sample yet", DIM)]
        self.show_titles("2 samples", self._subtitle(index))
        self.show_lines(len(lines), lines.__getitem__)

    def _subtitle(self, index: int) -> str:
        if self._search.is_typing:
            return f"/{escape_control(self._search.text)}▏"
        words = f"/{escape_control(self._search.text)}" if self._search.text else ""
        position = f"{index + 1:,} of {len(self.audits):,}" if index >= 0 else ""
        prompts = self._prompts(index) if self._is_of_several() else ""
        return " · ".join(each for each in (words, self._told, prompts, position) if each)

    def _prompts(self, index: int) -> str:
        """Which of its prompts lead, `prompts 1-3 of 5`; a person counts from 1."""
        samples, led = self.audits[index].samples, self._led(index)
        count = columns_in(led, self.line_width)
        if count == len(samples):
            return f"{count} prompts"
        first = [sample.prompt for sample in samples].index(led.prompt) + 1
        return f"prompt {first} of {len(samples)}" + (f", {count} in sight" if count > 1 else "")

    def _lines(self, index: int) -> list[Content]:
        audit, width = self._led(index), self.line_width
        before = self._led(index - 1) if index else None
        if self.prompt is not None and before is not None and before.prompt != audit.prompt:
            before = None
        return [
            self._head(audit, before),
            *self._scores_above(audit, before),
            Content(),
            *sample_columns(audit, before, width, search=self._search.text),
        ]

    def _head(self, audit: Audit, before: Audit | None) -> Content:
        title = Content.assemble(
            (f"step {formatting.steps(audit.step)}", "bold"),
            (f"  {foreign(audit.cause)}" if audit.cause else "", DIM),
        )
        repeated = Content() if audit.more else repeated_content(audit)
        pieces = [
            Piece(content=title, rank=0),
            Piece(content=score_content(audit, before), rank=1),
            Piece(content=repeated, rank=2),
        ]
        return line(pieces, self.line_width)

    def _scores_above(self, audit: Audit, before: Audit | None) -> list[Content]:
        width = self.line_width
        if self.shows_parts:
            return part_lines(self._scored, audit, before, width=width)
        rows = _SCORE_ROWS if self.rows_in_sight >= _ROWS_WITH_SCORES else 1
        dots = dot_lines(self._scores, audit.step, self._glyphs, width=width, rows=rows)
        return [parts_content(audit), *dots]

"""Step 5: the pivot as it happens, or as it was found under way."""

import asyncio
import time
from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from console import formatting
from console.operations.actions import Place
from console.pivot.timeline import Timeline
from console.pivot.wizard_files import WizardFiles
from console.ui.keys import bindings_at
from console.ui.screens.framed import FramedScreen
from console.ui.screens.pivot.progress_lines import CONTINUE, ROLL_BACK, choices_of, timeline_lines
from console.ui.screens.pivot.step import PROGRESS, steps_line
from console.ui.widgets.choices import Choices
from console.ui.widgets.line_view import LineView
from trainer.rundir.outcomes import RunError
from trainer.rundir.pivot.journal import Pivot

_ROWS_AROUND = 7
"""Of the frame; the choices come to that."""


class ProgressScreen(FramedScreen):
    """The app's timeline of the pivot; where nobody walks it, offers to continue or go back."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.PIVOT)

    class WalkWanted(Message):
        """The pivot is to be walked on from where the journal says it is."""

        def __init__(self, timeline: Timeline) -> None:
            super().__init__()
            self.timeline = timeline

    class RolledBack(Message):
        """The pivot was taken back."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    def __init__(
        self,
        files: WizardFiles,
        *,
        found: tuple[Pivot, Timeline] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`found`: the journal of a pivot that nobody here walks yet."""
        super().__init__(f"Polish pivot of {files.run.name}", monotonic=monotonic)
        self._files = files
        self._about = head_of(found[0]) if found else ""
        self._timeline = found[1] if found else Timeline()
        self._is_walking = found is None

    def compose_body(self) -> ComposeResult:
        yield LineView(id="pivot-timeline")
        yield Choices(id="pivot-choices")

    def on_mount(self) -> None:
        self.watch(self.app, "timeline", self._on_timeline, init=self._is_walking)
        self._draw()
        self.begin_quiet()

    def on_resize(self) -> None:
        super().on_resize()
        self._draw()

    def head(self) -> Content:
        return steps_line(PROGRESS, self.size.width - 4)

    def words(self) -> str:
        return "You may leave at any time: pivot.json knows where to go on."

    def keys(self) -> str:
        return "↑ ↓ move   Enter choose   PgUp PgDn scroll   Esc close"

    def enter(self) -> None:
        """Take the focus."""
        self.set_focus(self.query_one(Choices))

    def action_scroll(self, pages: int) -> None:
        """Move through the facts."""
        view = self.query_one(LineView)
        view.scroll_relative(y=pages * max(view.rows_in_sight - 1, 1), animate=False)

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        if not self.guard.lets_through():
            return
        if event.key == CONTINUE:
            self._take_up()
        elif event.key == ROLL_BACK:
            self._roll_back()
        else:
            self.dismiss()

    def _on_timeline(self, timeline: Timeline | None) -> None:
        if timeline is None:
            return
        was_walking = self._is_walking
        self._timeline, self._is_walking = timeline, not (timeline.problem or timeline.is_over)
        self._draw()
        if was_walking is not self._is_walking:
            self.say("")
            self.begin_quiet()

    @work(group="pivot-files", exclusive=True)
    async def _take_up(self) -> None:
        try:
            found = await asyncio.to_thread(self._files.pending)
        except (RunError, OSError) as error:
            self.say(str(error))
            return
        if found is None:
            self.say("no pivot is under way any more")
        else:
            self.post_message(self.WalkWanted(found[1]))

    @work(group="pivot-files", exclusive=True)
    async def _roll_back(self) -> None:
        outcome = await asyncio.to_thread(self._files.pivots.roll_back)
        if outcome.ok:
            self.post_message(self.RolledBack(outcome.message))
        else:
            self.say(outcome.message)

    def _draw(self) -> None:
        choices = choices_of(self._timeline, is_walking=self._is_walking)
        self.query_one(Choices).offer(choices)
        view = self.query_one(LineView)
        room = self.size.height - _ROWS_AROUND - 2 * len(choices)
        view.styles.max_height = max(room, 1)
        lines = timeline_lines(self._timeline, self._about, view.line_width)
        view.show_lines(len(lines), lines.__getitem__)
        if self._is_walking or self._timeline.problem:
            view.scroll_end(animate=False)


def head_of(pivot: Pivot) -> str:
    """What there is to know of a pivot that was found under way."""
    when = formatting.moment(pivot.times.get("requested"))
    note = f": {pivot.note}" if pivot.note else ""
    who = f"{pivot.user} on {pivot.host}"
    return f"A pivot of phase {pivot.phase} is under way, asked for by {who} at {when}{note}"

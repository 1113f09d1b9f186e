"""The wizard: four steps up to the confirmation, and what each needs from the run's files."""

import asyncio
import time
from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from console.operations.actions import Place
from console.pivot.plan import Plan
from console.pivot.policy_draft import change_of, size_words
from console.pivot.timeline import Timeline
from console.pivot.wizard_files import StartingPoint, WizardFiles
from console.ui.input_guard import InputGuard
from console.ui.keys import bindings_at
from console.ui.screens.framed import FramedScreen
from console.ui.screens.pivot.policy import Policy
from console.ui.screens.pivot.preconditions import Preconditions
from console.ui.screens.pivot.review import Review
from console.ui.screens.pivot.step import CHECKS, POLICY, REVIEW, WHEN, Step, steps_line
from console.ui.screens.pivot.when import When
from console.ui.widgets.choices import Choices
from console.view.glance import Glance
from trainer.rundir.outcomes import RunError
from trainer.rundir.pivot.journal import Pivot

_TOO_QUICK = "that came too quickly: press it once more"
_STEPS = ("#pivot-preconditions", "#pivot-policy", "#pivot-when", "#pivot-review")


class WizardScreen(FramedScreen):
    """Changes nothing until the review is confirmed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.WIZARD)

    class PivotFound(Message):
        """A pivot is under way already."""

        def __init__(self, found: tuple[Pivot, Timeline]) -> None:
            super().__init__()
            self.found = found

    class Requested(Message):
        """The pivot is in the journal: it is to be walked to its end."""

        def __init__(self, timeline: Timeline) -> None:
            super().__init__()
            self.timeline = timeline

    def __init__(
        self, files: WizardFiles, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(f"Polish pivot of {files.run.name}", monotonic=monotonic)
        self._files = files
        self._monotonic = monotonic
        self._at = CHECKS
        self._page_guard = InputGuard(monotonic)
        """A second tap that comes when the next page stands already leads no further."""
        self._starting_point: StartingPoint | None = None
        self._glance: Glance | None = None
        self._is_busy = False
        """Something was sent off that has to come back before the next step."""
        self._is_requesting = False
        """The journal is being written: a pivot that nobody walks must not be left behind."""

    def compose_body(self) -> ComposeResult:
        yield Preconditions()
        yield Policy(str(self._files.folder))
        yield When()
        yield Review(self._files.run.name, monotonic=self._monotonic)

    def on_mount(self) -> None:
        self.watch(self.app, "glance", self._on_glance)
        self._open(CHECKS)
        self.begin_quiet()
        self._begin()

    def head(self) -> Content:
        return steps_line(self._at, self.size.width - 4)

    def words(self) -> str:
        return self.step.WORDS

    def keys(self) -> str:
        return self.step.keys()

    def enter(self) -> None:
        """Give the focus to the step."""
        self.step.enter()

    @property
    def step(self) -> Step:
        """The one that is shown."""
        return self.query_one(_STEPS[self._at], Step)

    def action_cancel(self) -> None:
        """Take back what is being typed; else close, with nothing done."""
        if not self._is_requesting and not self.step.forget():
            self.dismiss()

    def action_back(self) -> None:
        """Go to the step before."""
        if self._at > CHECKS and not self._is_busy:
            self._open(self._at - 1)

    def action_next(self) -> None:
        """Go to the next step, if this one is in order; from the review only its field leads on."""
        if self._is_busy or self._at == REVIEW:
            return
        problem = self.step.problem() or ("" if self._page_guard.is_open else _TOO_QUICK)
        self.say(problem)
        if problem:
            return
        if self._at == CHECKS:
            self._open(POLICY)
        else:
            self._is_busy = True
            self._plan()

    def action_take(self) -> None:
        """Enter takes what is typed, on every page; where nothing is, say what goes on."""
        self.say("Enter takes what is typed; n goes on to the next page")

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.action_take()

    def _open(self, at: int) -> None:
        """Show a step; before the review there is a moment of quiet, which ends any key storm."""
        self._at = at
        self._page_guard.close()
        for index, selector in enumerate(_STEPS):
            self.query_one(selector).display = index == at
        self.say("")
        self.draw_guarded()
        if at == REVIEW:
            self.begin_quiet()
        elif self.guard.is_open:
            self.enter()

    def _on_glance(self, glance: Glance | None) -> None:
        self._glance = glance
        if glance is None or self._starting_point is None:
            return
        every = glance.view.checkpoint_every or self._starting_point.settings.checkpoint.every
        self.query_one(When).show(glance.view, every)
        self.query_one(Review).follow(glance.view)
        if self._at == CHECKS:
            self._check(glance, self._starting_point)

    @work(group="pivot-files")
    async def _begin(self) -> None:
        """Read what a pivot would start from, or find the one under way."""
        try:
            found = await asyncio.to_thread(self._files.pending)
            starting_point = None if found else await asyncio.to_thread(self._files.starting_point)
        except (RunError, OSError) as error:
            self.query_one(Preconditions).refuse(str(error))
            self.say(str(error))
            return
        if found is not None:
            self.post_message(self.PivotFound(found))
        elif starting_point is not None:
            self._starting_point = starting_point
            self.query_one(Policy).begin(starting_point)
            self._on_glance(self._glance)

    @work(group="pivot-checks", exclusive=True)
    async def _check(self, glance: Glance, starting_point: StartingPoint) -> None:
        try:
            checks = await asyncio.to_thread(self._files.checks, glance.view, starting_point)
        except (RunError, OSError) as error:
            self.say(str(error))
        else:
            self.query_one(Preconditions).show(checks)

    @work(group="pivot-count", exclusive=True)
    async def on_policy_count_wanted(self, event: Policy.CountWanted) -> None:
        event.stop()
        policy = self.query_one(Policy)
        try:
            source = self._files.anchored(event.path)
            size = await asyncio.to_thread(self._files.measure, source)
        except (RunError, OSError) as error:
            policy.refuse_source(event, str(error))
        else:
            policy.add(event, source, size_words(size))

    @work(group="pivot-files")
    async def _plan(self) -> None:
        """Make the plan of the draft; what the files don't allow is shown in the policy's step."""
        policy = self.query_one(Policy)
        try:
            if self._starting_point is None:
                return
            change, mode = change_of(policy.draft), self.query_one(When).mode
            plan = await asyncio.to_thread(self._files.plan, change, mode, self._starting_point)
        except (RunError, OSError) as error:
            self._open(POLICY)
            policy.refuse(str(error))
        else:
            self._go_on_with(plan)
        finally:
            self._is_busy = False

    def _go_on_with(self, plan: Plan) -> None:
        """From the policy to the moment, and with the moment chosen to the review."""
        if self._at == POLICY:
            self._open(WHEN)
        elif self._glance is not None:
            self.query_one(Review).show(plan, self._glance.view)
            self._open(REVIEW)

    @work(group="pivot-files")
    async def on_review_confirmed(self, event: Review.Confirmed) -> None:
        event.stop()
        self._is_busy = self._is_requesting = True
        try:
            told = await asyncio.to_thread(self._files.pivots.request, event.plan)
        except (RunError, OSError) as error:
            self.query_one(Review).refuse(str(error))
        else:
            self.post_message(self.Requested(Timeline().after(told)))
        finally:
            self._is_busy = self._is_requesting = False

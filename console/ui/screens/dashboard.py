"""The main screen: the header, and the panes as a grid or one at a time."""

import time
from collections.abc import Callable
from typing import ClassVar, Protocol, runtime_checkable

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.reactive import reactive
from textual.screen import Screen

from console.chart.chart_data import Other, Points
from console.chart.navigation import known_tracks
from console.operations.actions import Place
from console.ui.chart_data import ChartFeed
from console.ui.keys import bindings_at
from console.ui.messages import StepChosen
from console.ui.screens.alarms import AlarmsScreen
from console.ui.screens.comparison import ComparisonScreen
from console.ui.screens.events import EventsScreen
from console.ui.screens.health import HealthScreen, Sight
from console.ui.screens.prompt import PromptScreen
from console.ui.widgets.bandit import BanditPane
from console.ui.widgets.checkpoints import CheckpointsPane
from console.ui.widgets.header import Header
from console.ui.widgets.key_line import KeyLine
from console.ui.widgets.log_tail import LogPane
from console.ui.widgets.loss_chart import LossChart
from console.ui.widgets.machine import MachineStrip
from console.ui.widgets.samples import SamplesPane
from console.ui.widgets.tabs import PaneTabs
from console.view.alarm_book import unacknowledged
from console.view.glance import Glance
from console.view.machine import Machine
from console.view.run_view import RunView, Severity

_NEWCOMER_SECONDS = 120.0
PANES = ("loss", "samples", "bandit", "checkpoints", "log")


@runtime_checkable
class SelectsStep(Protocol):
    """A pane that shows what it has of a chosen step."""

    def select(self, step: int | None) -> None:
        """Show this step from now on; `None` follows the newest."""


class Dashboard(Screen[None]):
    """Draws each glance at the run; chooses what is shown and never what is true."""

    AUTO_FOCUS = "#loss"
    # Textual declares both as instance variables.
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-tiny"),
        (9, "-short"),
        (30, "-tall"),
    ]

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.PANES)

    chosen: reactive[int] = reactive(0)
    is_zoomed: reactive[bool] = reactive(False)
    step: reactive[int | None] = reactive(None, init=False)
    """The one that was chosen; `None` follows the newest."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        offers: Callable[[str], bool] = lambda _: True,
        is_read_only: bool = False,
    ) -> None:
        """`offers`: whether an action, by its id, can be done now."""
        super().__init__()
        self._clock = clock
        self._offers = offers
        self._is_read_only = is_read_only
        self._glance: Glance | None = None
        self._machine: Machine | None = None
        self._feed = ChartFeed()
        self._others: tuple[Other, ...] = ()
        """The runs that are laid over the chart."""
        self._fields: tuple[Points, ...] = ()
        """Of the trainer's own that are drawn."""
        self._is_dated = False
        self._is_new_here = True
        """Until the first key, or for a while: what happened meanwhile is told."""

    def compose(self) -> ComposeResult:
        self._take_size()
        yield Header(clock=self._clock)
        yield MachineStrip()
        yield PaneTabs(PANES)
        with Container(id="panes"):
            chart = LossChart(id="loss")
            chart.border_title = "1 loss"
            yield chart
            yield SamplesPane(id="samples")
            yield BanditPane(id="bandit")
            yield CheckpointsPane(id="checkpoints", clock=self._clock)
            yield LogPane(id="log", clock=self._clock)
        yield KeyLine(offers=self._offers)

    def _take_size(self) -> None:
        """What Textual does at a resize, before all is laid out for the first time, not after."""
        width, height = self.app.size
        found = self._get_breakpoint_classes(width, self.HORIZONTAL_BREAKPOINTS)
        found |= self._get_breakpoint_classes(height, self.VERTICAL_BREAKPOINTS)
        self.update_classes(dict.fromkeys({*found, "-all"}, True), update=False)

    def on_mount(self) -> None:
        self.watch(self.app, "glance", self._show)
        self.watch(self.app, "minute", self._show_ages, init=False)
        self.watch(self.app, "has_key", self.settle_in, init=False)
        self.set_timer(_NEWCOMER_SECONDS, self.settle_in)
        self.watch(self.app, "is_dated", self._show_dated, init=False)
        self.watch(self.app, "machine", self._show_machine)
        self.watch(self.app, "others", self._show_others, init=False)
        self.watch(self.app, "fields", self._show_fields, init=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Zoom where there is room for all panes."""
        return action != "zoom" or self.has_class("-wide", "-tall")

    def on_resize(self) -> None:
        self.call_after_refresh(self._focus_again)
        self.refresh_bindings()
        self._show_ages()
        self._show_machine(self._machine)
        self.query_one(PaneTabs).show(self.chosen, self.size.width)

    def watch_chosen(self) -> None:
        for index, name in enumerate(PANES):
            self.query_one(f"#{name}").set_class(index == self.chosen, "-chosen")
        self.query_one(PaneTabs).show(self.chosen, self.size.width)
        self._focus_chosen()

    def _focus_again(self) -> None:
        """After a terminal without room for panes: what is hidden loses the focus."""
        if self.focused is None:
            self._focus_chosen()

    def _focus_chosen(self) -> None:
        self.query_one(f"#{PANES[self.chosen]}").focus()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """A click into a pane chooses it, as its number does."""
        if event.widget.id in PANES:
            self.chosen = PANES.index(event.widget.id)

    def on_pane_tabs_chosen(self, event: PaneTabs.Chosen) -> None:
        self.action_choose(event.index)

    def watch_is_zoomed(self) -> None:
        self.set_class(not self.is_zoomed, "-all")

    def action_choose(self, index: int) -> None:
        """Go to a pane, counted from 0."""
        self.chosen = index
        self._focus_chosen()

    def action_walk(self, by: int) -> None:
        """Go to the next pane, in a circle."""
        self.chosen = (self.chosen + by) % len(PANES)

    def action_zoom(self) -> None:
        """Show the chosen pane alone, or all where there is room for them."""
        self.is_zoomed = not self.is_zoomed

    def action_health(self) -> None:
        """Show how the run is, and of what is chosen there the step and the track."""
        self.app.push_screen(HealthScreen(clock=self._clock), self._look_at)

    def action_events(self) -> None:
        """Show what happened, and go to the step of what is chosen there."""
        self.app.push_screen(EventsScreen(clock=self._clock), self._go_to)

    def action_alarms(self) -> None:
        """Show the alarms, and go to the step of what is chosen there."""
        self.app.push_screen(AlarmsScreen(clock=self._clock), self._go_to)

    def action_go_anywhere(self) -> None:
        """Ask where to go: one prompt for steps, times and words."""
        if self._glance is not None:
            self.app.push_screen(PromptScreen(self._glance, clock=self._clock), self._go_to)

    def _look_at(self, sight: Sight | None) -> None:
        if sight is None:
            return
        self.chosen, chart = PANES.index("loss"), self.query_one(LossChart)
        if sight.track in known_tracks(chart.data):
            chart.show_tracks((sight.track,))
        self._go_to(sight.step)

    def _go_to(self, step: int | None) -> None:
        if step is not None:
            self.post_message(StepChosen(step))

    def on_step_chosen(self, event: StepChosen) -> None:
        """One selection for all panes; each shows of it what it has."""
        event.stop()
        self.step = event.step

    def watch_step(self, step: int | None) -> None:
        for pane in self.query_one("#panes").children:
            if isinstance(pane, SelectsStep):
                pane.select(step)

    def on_checkpoints_pane_chosen(self, event: CheckpointsPane.Chosen) -> None:
        audits = self._glance.view.audits if self._glance is not None else ()
        if event.audit in audits:
            self.app.push_screen(ComparisonScreen(audits, event.audit, against=event.against))

    def _show(self, glance: Glance | None) -> None:
        if glance is None:
            return
        self._glance, view = glance, glance.view
        self._show_ages()
        self._show_chart()
        self.query_one(SamplesPane).show(view)
        self.query_one(BanditPane).show(view, glance.sources)
        self.query_one(LogPane).show(view)

    def _show_others(self, others: tuple[Other, ...]) -> None:
        self._others = others
        self._show_chart()

    def _show_fields(self, fields: tuple[Points, ...]) -> None:
        self._fields = fields
        self._show_chart()

    def _show_chart(self) -> None:
        if self._glance is not None:
            data = self._feed.data(self._glance, self._others, self._fields)
            self.query_one(LossChart).show(data)

    def settle_in(self, *_: object) -> None:
        """What happened before this console was opened is told."""
        if self._is_new_here:
            self._is_new_here = False
            self._show_ages()

    def _show_dated(self, is_dated: bool) -> None:
        self._is_dated = is_dated
        self._show_ages()

    def _show_machine(self, machine: Machine | None) -> None:
        self._machine = machine
        if machine is not None:
            self.query_one(MachineStrip).show(machine)

    def _show_ages(self) -> None:
        """Draw what also depends on the time of day."""
        if self._glance is not None:
            view, is_dated = self._glance.view, self._is_dated
            hint = _hint(view, is_read_only=self._is_read_only)
            self.query_one(Header).show(
                view,
                hint=hint,
                is_dated=is_dated,
                n_alarms=unacknowledged(self._glance.alarms),
                away=self._glance.away if self._is_new_here else "",
            )
            self.query_one(CheckpointsPane).show(view, is_dated=is_dated)


def _hint(view: RunView, *, is_read_only: bool) -> str:
    if is_read_only:
        return "read-only"
    has_ended = view.status.severity in (Severity.ENDED, Severity.ATTENTION, Severity.BAD)
    if not (has_ended and view.can_go_on):
        return ""
    return "r resumes" if view.step or view.newest else "r starts it"

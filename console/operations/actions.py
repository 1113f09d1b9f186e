"""The one table of what an operator can do: bindings, footer, help, read-only and verbs read it."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from enum import Enum

from console.view.run_view import RunView

READ_ONLY = "read-only: nothing is changed from here"


class Place(Enum):
    """Where an action's key works: its section of the help."""

    EVERYWHERE = "Everywhere"
    PANES = "Panes"
    CHART = "Chart"
    SAMPLES = "Samples"
    BANDIT = "Bandit"
    CHECKPOINTS = "Checkpoints"
    LOG = "Log"
    LINES = "Lines of text"
    AUDITS = "Two audits"
    TRACKS = "Tracks of the chart"
    OVERLAY = "Runs to lay over"
    PROMPT = "Go anywhere"
    ALARMS = "Alarms"
    EVENTS = "Events"
    HEALTH = "Health"
    FAMILY = "Tree of the run"
    BATCH = "What a step was fed"
    HELP = "Help"
    QUIT = "Quit dialog"
    WIZARD = "Pivot wizard"
    WIZARD_POLICY = "Arms in the wizard"
    WIZARD_SOURCE = "Source to add"
    WIZARD_REVIEW = "Review in the wizard"
    PIVOT = "Pivot under way"
    FORK = "Audit fork"
    BRANCHES_SCREEN = "Branches"
    BRANCHES = "Row of a branch"
    COMPARE = "Two runs"
    CHOICES = "Choices"
    THIN = "Thin dialog"
    NOTE = "Note on a checkpoint"

    @property
    def is_steering(self) -> bool:
        """Whether only what changes the run leads there: a read-only console never shows it."""
        return list(Place).index(self) >= list(Place).index(Place.QUIT)


def _always(view: RunView) -> str:
    return ""


def _no_trainer(view: RunView) -> str:
    return "" if view.is_running else "no trainer is running"


def _nothing_to_resume(view: RunView) -> str:
    if view.is_running:
        return "the trainer is running"
    return "" if view.can_go_on else "all steps are done"


def _no_checkpoint(view: RunView) -> str:
    return "" if view.checkpoints else "there is no checkpoint yet"


@dataclass(frozen=True, slots=True)
class Action:
    """Something that an operator can do by a key, by a verb of the command line, or by both."""

    id: str
    """A key map moves its key by this."""
    keys: str = ""
    """Textual's names, `,` between several; the first is the one that is shown."""
    does: str = ""
    """The method that the key calls, `action_` left out, and its arguments."""
    title: str = ""
    description: str = ""
    _: KW_ONLY
    place: Place = Place.EVERYWHERE
    changes_run: bool = False
    """Whether a read-only console refuses it."""
    why_not: Callable[[RunView], str] = _always
    """Why the run can't take it as it is now; empty if it can."""
    read_only_description: str = ""
    """Where it does less there."""
    is_shown: bool = True
    """Whether it has a place in the line of keys."""
    is_priority: bool = False
    """Whether it works before whatever has the focus sees the key."""
    key_display: str | None = None
    verb: str = ""
    """As it is typed."""
    verb_help: str = ""
    """What the verb does, prints, and exits with."""

    def refusal(self, view: RunView | None, *, is_read_only: bool) -> str:
        """Why it can't be done now, for a person; empty if it can. `view` is None: not known."""
        if is_read_only and self.changes_run:
            return READ_ONLY
        return "" if view is None else self.why_not(view)


def _at(place: Place, *actions: Action) -> tuple[Action, ...]:
    return tuple(replace(action, place=place) for action in actions)


def _help(screen: str) -> Action:
    """All keys, from a screen that lies over the panes."""
    return Action(f"{screen}.help", "question_mark", "app.help", "Help", "All keys", is_shown=False)


ACTIONS: tuple[Action, ...] = (
    Action(
        "run.status",
        verb="status",
        verb_help="print how the run is, or a line a run of a directory of runs; exit 0 healthy,"
        " 1 needs attention, 3 not running",
    ),
    Action(
        "run.stop",
        verb="stop",
        changes_run=True,
        verb_help="ask the trainer to save and end, wait until it is gone, print the newest"
        " checkpoint",
    ),
    Action(
        "run.verify",
        verb="verify",
        verb_help="check every file of the run; exit 0 all well, 1 something is not",
    ),
    Action(
        "run.prepare",
        verb="prepare",
        changes_run=True,
        verb_help="make tokenizer and tokens of the run's sources and train nothing; stopped by"
        " Ctrl-C or stop, it goes on later; exit 0 prepared, else as andrea-trainer",
    ),
    Action("run.service", verb="service", verb_help="print a systemd unit that trains the run"),
    Action(
        "run.compare",
        verb="compare",
        verb_help="put runs side by side: the same steps, the same held-out text, a verdict",
    ),
    Action(
        "run.evaluate",
        verb="evaluate",
        verb_help="take a checkpoint's loss on the whole held-out text, source by source, beside"
        " the training; what is found is kept",
    ),
    Action(
        "run.text",
        verb="text",
        verb_help="tell what a step was fed: each row's file, line and text, and what it cost",
    ),
    Action(
        "run.seen",
        verb="seen",
        verb_help="tell which steps a document was in, found by its words or its file, and when it"
        " comes next; exit 1 where there is none",
    ),
    *_at(
        Place.EVERYWHERE,
        Action(
            "run.checkpoint",
            "c",
            "checkpoint",
            "Checkpoint",
            "Write a checkpoint now; training goes on",
            changes_run=True,
            why_not=_no_trainer,
            verb="checkpoint",
            verb_help="ask for a checkpoint, wait until it is written, print its path",
        ),
        Action(
            "run.pivot",
            "p",
            "pivot",
            "Pivot",
            "Change the policy: a wizard that asks first",
            changes_run=True,
            verb="pivot",
            verb_help="change the policy of the run without retraining: a new phase",
        ),
        Action(
            "run.resume",
            "r",
            "resume",
            "Resume",
            "Start the trainer at the newest checkpoint",
            changes_run=True,
            why_not=_nothing_to_resume,
        ),
        Action(
            "run.quit",
            "q",
            "ask_quit",
            "Quit",
            "Asks: stop training gracefully, or detach",
            read_only_description="The same as d",
        ),
        Action("run.quit_too", "ctrl+q", "ask_quit", "Quit", "The same as q", is_shown=False),
        Action(
            "run.detach", "d", "detach", "Detach", "Close the console at once; training goes on"
        ),
        Action(
            "run.interrupt",
            "ctrl+c",
            "detach",
            "Detach",
            "The same as d; no signal reaches the trainer",
            is_shown=False,
            is_priority=True,
        ),
        Action(
            "app.dates",
            "T",
            "toggle_dates",
            "Dates",
            "Times as dates, or as ages",
            is_shown=False,
        ),
        Action("app.help", "question_mark", "help", "Help", "All keys"),
    ),
    *_at(
        Place.PANES,
        Action("pane.loss", "1", "choose(0)", "Loss", "Go to the loss pane", is_shown=False),
        Action(
            "pane.samples", "2", "choose(1)", "Samples", "Go to the samples pane", is_shown=False
        ),
        Action("pane.bandit", "3", "choose(2)", "Bandit", "Go to the bandit pane", is_shown=False),
        Action(
            "pane.checkpoints",
            "4",
            "choose(3)",
            "Checkpoints",
            "Go to the checkpoints pane",
            is_shown=False,
        ),
        Action("pane.log", "5", "choose(4)", "Log", "Go to the log pane", is_shown=False),
        Action(
            "pane.health",
            "h",
            "health",
            "Health",
            "Whether it is healthy, and since when not",
            is_shown=False,
        ),
        Action(
            "pane.events",
            "e",
            "events",
            "Events",
            "What happened, and when; Enter goes there",
            is_shown=False,
        ),
        Action(
            "pane.alarms",
            "exclamation_mark",
            "alarms",
            "Alarms",
            "Those that last or wait to be acknowledged",
            key_display="!",
            is_shown=False,
        ),
        Action(
            "pane.go_to",
            "colon",
            "go_anywhere",
            "Go anywhere",
            "A step, -3d, a date, phase 3, best, spike",
            key_display=":",
            is_shown=False,
        ),
        Action("pane.next", "tab", "walk(1)", "Next pane", "Go to the next pane", is_shown=False),
        Action(
            "pane.before", "shift+tab", "walk(-1)", "Pane before", "Go one back", is_shown=False
        ),
        Action("pane.zoom", "z", "zoom", "Zoom", "This pane alone, or all if there is room"),
    ),
    *_at(
        Place.CHART,
        Action("chart.older", "left", "move(-1)", "Cursor", "A column (a step) to the older"),
        Action("chart.newer", "right", "move(1)", "Cursor", "To the newer", is_shown=False),
        Action(
            "chart.zoom_in",
            "plus,equals_sign",
            "zoom_in",
            "Zoom",
            "Half the steps; mouse: wheel, or draw a range",
            key_display="+",
        ),
        Action(
            "chart.zoom_out",
            "minus",
            "zoom_out",
            "Zoom out",
            "Twice as many steps",
            key_display="-",
            is_shown=False,
        ),
        Action(
            "chart.track", "m", "next_track", "Track", "Then val_loss, score, grad_norm, lr, by arm"
        ),
        Action("chart.follow", "f,escape", "follow", "Follow", "No cursor; stay with the newest"),
        Action(
            "chart.go",
            "g",
            "go_to",
            "Go to",
            "Type a step; Enter puts the cursor there",
            # The digits that come with it in one burst are the step's, not the panes'.
            is_priority=True,
        ),
        Action("chart.whole", "0", "whole", "All", "The whole run"),
        Action(
            "chart.text",
            "enter",
            "ask_text",
            "Text",
            "What the step under the cursor was fed",
            is_shown=False,
        ),
        Action(
            "chart.next_mark", "n", "move_to_mark(1)", "Mark", "Cursor to the next mark or alarm"
        ),
        Action(
            "chart.mark_before",
            "N",
            "move_to_mark(-1)",
            "Mark before",
            "To the mark before",
            is_shown=False,
        ),
        Action(
            "chart.first",
            "home",
            "move_to_end(False)",
            "First",
            "Cursor to the first step in sight",
            is_shown=False,
        ),
        Action(
            "chart.last",
            "end",
            "move_to_end(True)",
            "Last",
            "To the last step in sight",
            is_shown=False,
        ),
        Action(
            "chart.pan_older",
            "left_square_bracket,shift+left",
            "pan(-1)",
            "Pan",
            "The window to older steps; Shift+← too",
            key_display="[",
            is_shown=False,
        ),
        Action(
            "chart.pan_newer",
            "right_square_bracket,shift+right",
            "pan(1)",
            "Pan",
            "To newer steps; Shift+→ too",
            key_display="]",
            is_shown=False,
        ),
        Action("chart.tracks", "M", "choose_tracks", "Tracks", "Several at once", is_shown=False),
        Action(
            "chart.overlay", "o", "overlay", "Overlay", "Other runs over this; away", is_shown=False
        ),
        Action("chart.smoother", "s", "smoother(1)", "Smoother", "Smooth more", is_shown=False),
        Action("chart.rougher", "S", "smoother(-1)", "Rougher", "Smooth less", is_shown=False),
        Action("chart.scale", "l", "toggle_scale", "Scale", "The loss on a log or a linear axis"),
        Action("chart.unit", "x", "next_unit", "By", "Over steps, tokens or time", is_shown=False),
    ),
    *_at(
        Place.SAMPLES,
        Action("samples.older", "left", "older", "Older", "The sample before this"),
        Action("samples.newer", "right", "newer", "Newer", "The sample after this", is_shown=False),
        Action(
            "samples.newest",
            "F,escape",
            "newest",
            "Newest",
            "Stay with the newest",
            is_shown=False,
        ),
        Action("samples.turn", "t", "turn", "Prompt", "The next prompt's sample to the left"),
        Action("samples.parts", "b", "toggle_parts", "Parts", "The scores' four parts, or scores"),
        Action("samples.search", "slash", "search", "Search", "Find a word, the newest first"),
        Action("samples.next", "n", "find(-1)", "Older match", "The match before", is_shown=False),
        Action("samples.before", "N", "find(1)", "Newer match", "The match after", is_shown=False),
    ),
    *_at(
        Place.BANDIT,
        Action("bandit.data", "b", "toggle_data", "Data", "The arms as sources of text, or back"),
    ),
    *_at(
        Place.CHECKPOINTS,
        Action(
            "checkpoints.compare",
            "enter",
            "compare",
            "Audit",
            "Its audit beside the one before, or marked",
            why_not=_no_checkpoint,
            key_display="Enter",
        ),
        Action(
            "checkpoints.fork",
            "f",
            "fork",
            "Fork",
            "Two branches from it, to see which is better",
            changes_run=True,
            why_not=_no_checkpoint,
            verb="fork",
            verb_help="make a sibling run from a checkpoint, to try other settings from the same"
            " weights",
        ),
        Action(
            "checkpoints.thin",
            "t",
            "thin",
            "Thin",
            "Preview a thinning; asks before it deletes",
            changes_run=True,
            why_not=_no_checkpoint,
            verb="thin",
            verb_help="show which checkpoints may go; with --yes, delete them",
        ),
        Action(
            "checkpoints.pin",
            "P",
            "pin",
            "Pin",
            "Keep it whatever thins; again: unpin",
            changes_run=True,
            why_not=_no_checkpoint,
            verb="pin",
            verb_help="keep a step's checkpoint whatever thins; without a step, print the pinned",
        ),
        Action(
            "checkpoints.note",
            "n",
            "note",
            "Note",
            "Type a note on it, which pins it, too",
            changes_run=True,
            why_not=_no_checkpoint,
            is_shown=False,
        ),
        Action(
            "checkpoints.mark",
            "space",
            "mark",
            "Mark",
            "Enter, P, n and t are for the marked",
            why_not=_no_checkpoint,
            is_shown=False,
        ),
        Action(
            "checkpoints.sort",
            "s",
            "sort",
            "Sort",
            "By score, val_loss, size, step in turn",
            is_shown=False,
        ),
        Action(
            "checkpoints.filter",
            "F",
            "filter",
            "Filter",
            "Marked, pinned, going, staying, by cause",
            is_shown=False,
        ),
        Action(
            "checkpoints.search",
            "slash",
            "search",
            "Search",
            "By first digits, 60000-62000, or a word",
            key_display="/",
            is_shown=False,
        ),
        Action(
            "checkpoints.tree",
            "g",
            "tree",
            "Tree",
            "The runs it came from, pivots, forks",
            is_shown=False,
        ),
        Action(
            "checkpoints.clear",
            "escape",
            "clear",
            "Clear",
            "Show all again; then take the marks away",
            is_shown=False,
        ),
        Action("checkpoints.up", "up,k", "move(-1)", "Up", "Newer", is_shown=False),
        Action("checkpoints.down", "down,j", "move(1)", "Down", "Older", is_shown=False),
        Action(
            "checkpoints.page_up", "pageup", "page(-1)", "Page up", "A screenful up", is_shown=False
        ),
        Action(
            "checkpoints.page_down",
            "pagedown",
            "page(1)",
            "Page down",
            "A screenful down",
            is_shown=False,
        ),
        Action("checkpoints.home", "home", "move_to(0)", "First", "To the first", is_shown=False),
        Action("checkpoints.end", "end,G", "move_to(-1)", "Last", "To the last", is_shown=False),
    ),
    *_at(
        Place.LOG,
        Action("log.search", "slash", "search", "Search", "Find a word, the newest first"),
        Action("log.next", "n", "find(-1)", "Older match", "The match before", is_shown=False),
        Action("log.before", "N", "find(1)", "Newer match", "The match after", is_shown=False),
        Action("log.level", "L", "next_level", "Level", "All lines, warnings, or errors only"),
        Action("log.follow", "F", "follow", "Follow", "Back to the end, and stay there"),
        Action(
            "log.time",
            "at",
            "go_to_time",
            "Time",
            "To a time: -3h, 22:40, a date",
            key_display="@",
            is_shown=False,
        ),
        Action(
            "log.wrap",
            "w",
            "toggle_wrap",
            "Wrap",
            "Long lines on several rows, or cut",
            is_shown=False,
        ),
        Action("log.left", "left", "shift(-1)", "Left", "Half a width left", is_shown=False),
        Action("log.right", "right", "shift(1)", "Right", "More of long lines", is_shown=False),
        Action(
            "log.pager",
            "enter",
            "page_here",
            "Pager",
            "Open $PAGER at this place",
            key_display="Enter",
        ),
        Action(
            "log.stop",
            "escape",
            "stop_reading",
            "Stop",
            "End a search; else follow",
            is_shown=False,
        ),
    ),
    *_at(
        Place.LINES,
        Action("lines.up", "up,k", "scroll_up", "Up", "One line up", is_shown=False),
        Action("lines.down", "down,j", "scroll_down", "Down", "One down", is_shown=False),
        Action("lines.page_up", "pageup", "page_up", "Page up", "A screenful up", is_shown=False),
        Action(
            "lines.page_down",
            "pagedown",
            "page_down",
            "Page down",
            "A screenful down",
            is_shown=False,
        ),
        Action("lines.home", "home,g", "scroll_home", "First line", "To the first", is_shown=False),
        Action("lines.end", "end,G", "scroll_end", "Last line", "To the last", is_shown=False),
    ),
    *_at(
        Place.AUDITS,
        Action("compare.older", "left", "walk(-1)", "Older", "The pair before"),
        Action("compare.newer", "right", "walk(1)", "Newer", "The pair after"),
        Action("compare.turn", "t", "turn", "Prompt", "The next prompt's samples"),
        _help("compare"),
        Action("compare.close", "escape,q,enter", "dismiss", "Close", "Back"),
    ),
    *_at(
        Place.TRACKS,
        Action("tracks.mark", "enter,space", "mark", "Mark", "Mark it, or take the mark back"),
        Action("tracks.done", "escape,q,M", "done", "Done", "Draw what is marked"),
    ),
    *_at(
        Place.OVERLAY,
        Action("overlay.lay", "enter", "lay_over", "Lay over", "What is marked, or this one"),
        Action("overlay.mark", "space", "mark", "Mark", "Several at once"),
        Action("overlay.close", "escape", "dismiss", "Close", "Change nothing"),
    ),
    *_at(
        Place.PROMPT,
        Action("prompt.close", "escape", "dismiss", "Close", "Go nowhere"),
    ),
    *_at(
        Place.ALARMS,
        Action("alarms.go", "enter", "go", "Go", "To the step where it began, or was raised"),
        Action(
            "alarms.acknowledge",
            "a,space",
            "acknowledge",
            "Acknowledge",
            "You have taken note; one that is over goes",
        ),
        Action("alarms.all", "A", "acknowledge_all", "All", "Acknowledge all of them"),
        Action("alarms.dates", "T", "app.toggle_dates", "Dates", "Times as dates, or as ages"),
        _help("alarms"),
        Action(
            "alarms.close",
            "escape,q,exclamation_mark",
            "dismiss",
            "Close",
            "Back",
        ),
    ),
    *_at(
        Place.EVENTS,
        Action("events.go", "enter", "go", "Go", "To the step where it happened"),
        Action("events.kind", "f", "filter(1)", "Kind", "Only the next kind of events"),
        Action("events.kind_before", "F", "filter(-1)", "Kind", "Only the kind before"),
        Action("events.dates", "T", "app.toggle_dates", "Dates", "Times as dates, or as ages"),
        _help("events"),
        Action("events.close", "escape,q,e", "dismiss", "Close", "Back"),
    ),
    *_at(
        Place.HEALTH,
        Action("health.go", "enter", "go", "Go", "Where it began, and its track on the chart"),
        Action("health.dates", "T", "app.toggle_dates", "Dates", "Times as dates, or as ages"),
        _help("health"),
        Action("health.close", "escape,q,h", "dismiss", "Close", "Back"),
    ),
    *_at(
        Place.FAMILY,
        Action("family.go", "enter", "go", "Go", "To the step of a pivot or fork of this run"),
        _help("family"),
        Action("family.close", "escape,q,g", "dismiss", "Close", "Back"),
    ),
    *_at(
        Place.BATCH,
        Action("batch.losses", "l", "losses", "Losses", "What each row cost, the highest first"),
        Action("batch.older", "left", "walk(-1)", "Older", "The step before"),
        Action("batch.newer", "right", "walk(1)", "Newer", "The step after"),
        Action("batch.down", "space,pagedown", "scroll_text(1)", "Text", "Further in the text"),
        Action("batch.up", "backspace,pageup", "scroll_text(-1)", "Text up", "Back in the text"),
        _help("batch"),
        Action("batch.close", "escape,q,enter", "dismiss", "Close", "Back"),
    ),
    *_at(
        Place.HELP,
        Action("help.close", "escape,question_mark,q", "dismiss", "Close", "Close"),
    ),
    *_at(
        Place.QUIT,
        Action("quit.up", "up,k,shift+tab", "move(-1)", "Up", "The choice above"),
        Action("quit.down", "down,j,tab", "move(1)", "Down", "The choice below"),
        Action("quit.choose", "enter", "choose", "Choose", "Do what is marked"),
        Action(
            "quit.cancel", "escape", "cancel", "Cancel", "Close the dialog; the run isn't touched"
        ),
    ),
    *_at(
        Place.WIZARD,
        Action("pivot.next", "n", "next", "Next", "The next step"),
        Action("pivot.back", "b", "back", "Back", "The step before"),
        Action(
            "pivot.next_anywhere",
            "ctrl+right",
            "next",
            "Next",
            "The next step, from a field too",
            is_priority=True,
        ),
        Action(
            "pivot.back_anywhere",
            "ctrl+left",
            "back",
            "Back",
            "The step before, from a field too",
            is_priority=True,
        ),
        Action("pivot.take", "enter", "take", "Take", "Take what is typed; turns no page"),
        Action(
            "pivot.cancel",
            "escape",
            "cancel",
            "Cancel",
            "Take back what is typed; else close",
        ),
    ),
    *_at(
        Place.WIZARD_POLICY,
        Action("policy.up", "up", "move(-1)", "Up", "The arm above", is_shown=False),
        Action("policy.down", "down", "move(1)", "Down", "The arm below", is_shown=False),
        Action("policy.floor", "left", "turn(0)", "Floor", "To the floor"),
        Action("policy.cap", "right", "turn(1)", "Cap", "To the cap"),
        Action("policy.take", "enter", "take", "Take", "Take what was typed; go down"),
        Action("policy.erase", "backspace", "erase", "Erase", "Take back a digit"),
        Action("policy.remove", "x", "remove", "Remove", "Remove this source, or not"),
        Action("policy.add", "a", "add", "Add", "Add a source"),
        Action("policy.forget", "escape", "forget", "Forget", "Forget what was typed"),
    ),
    *_at(
        Place.WIZARD_SOURCE,
        Action("source.close", "escape", "close", "Close", "Add no source"),
    ),
    *_at(
        Place.WIZARD_REVIEW,
        Action("pivot.review_up", "up", "scroll(-1)", "Up", "One line up", is_shown=False),
        Action("pivot.review_down", "down", "scroll(1)", "Down", "One line down", is_shown=False),
        Action(
            "pivot.review_page_up",
            "pageup",
            "scroll(-10)",
            "Page up",
            "Ten lines up",
            is_shown=False,
        ),
        Action(
            "pivot.review_page_down",
            "pagedown",
            "scroll(10)",
            "Page down",
            "Ten lines down",
            is_shown=False,
        ),
    ),
    *_at(
        Place.PIVOT,
        Action("progress.close", "escape", "dismiss", "Close", "The pivot goes on"),
        Action("progress.up", "pageup", "scroll(-1)", "Up", "The facts above"),
        Action("progress.down", "pagedown", "scroll(1)", "Down", "The facts below"),
    ),
    *_at(
        Place.FORK,
        Action("fork.close", "escape", "close", "Close", "Close; nothing is made"),
        Action("fork.down", "down", "app.focus_next", "Next field", "The field below"),
        Action("fork.up", "up", "up", "Field before", "The field above"),
    ),
    *_at(
        Place.BRANCHES_SCREEN,
        Action("branches.close", "escape", "dismiss", "Close", "Close; nothing is stopped"),
    ),
    *_at(
        Place.BRANCHES,
        Action("branches.up", "up,k", "move(-1)", "Up", "The row above", is_shown=False),
        Action("branches.down", "down,j", "move(1)", "Down", "The row below", is_shown=False),
        Action("branches.compare", "enter", "compare", "Compare", "With the run, or by m another"),
        Action("branches.against", "m", "against", "Mark", "Compare the others with this one"),
        Action("branches.stop", "s", "stop", "Stop", "Its trainer saves and ends"),
        Action("branches.open", "o", "open", "Open", "Its own console, until you leave it"),
    ),
    *_at(
        Place.COMPARE,
        Action("side.close", "escape,q", "dismiss", "Close", "Back"),
        Action("side.read", "r", "read", "Read anew", "Read both runs again"),
    ),
    *_at(
        Place.CHOICES,
        Action("choices.up", "up,k", "move(-1)", "Up", "The choice above"),
        Action("choices.down", "down,j", "move(1)", "Down", "The choice below"),
        Action("choices.choose", "enter", "choose", "Choose", "Do what is marked"),
    ),
    *_at(
        Place.THIN,
        Action("thin.cancel", "escape", "dismiss", "Cancel", "Close; nothing goes"),
        Action("thin.page_up", "pageup", "scroll(-1)", "Page up", "Steps before"),
        Action("thin.page_down", "pagedown", "scroll(1)", "Page down", "More steps"),
    ),
    *_at(
        Place.NOTE,
        Action("note.close", "escape", "dismiss", "Close", "Leave it as it is"),
    ),
)

_BY_ID = {action.id: action for action in ACTIONS}
_BY_VERB = {action.verb: action for action in ACTIONS if action.verb}


def action_of(key_id: str) -> Action:
    """The action of this id; raises `KeyError`."""
    return _BY_ID[key_id]


def action_of_verb(verb: str) -> Action:
    """What the verb does; raises `KeyError`."""
    return _BY_VERB[verb]


def actions_at(place: Place) -> tuple[Action, ...]:
    """What has a key there, in the order of the help."""
    return tuple(each for each in ACTIONS if each.place is place and each.keys)


def refusals(view: RunView) -> tuple[str, ...]:
    """What the run can't take now: while this is the same, the same keys are on offer."""
    return tuple(each.why_not(view) for each in ACTIONS)

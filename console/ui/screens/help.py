"""Help: every key of every screen, from the bindings themselves."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import ModalScreen

from console.ui.keys import CHANGING, READ_ONLY_WORDS
from console.ui.screens.comparison import ComparisonScreen
from console.ui.screens.dashboard import Dashboard
from console.ui.screens.fork.compare import CompareScreen
from console.ui.screens.fork.fork import ForkScreen
from console.ui.screens.pivot.policy import SourceForm
from console.ui.screens.pivot.policy_table import PolicyTable
from console.ui.screens.pivot.progress import ProgressScreen
from console.ui.screens.pivot.wizard import WizardScreen
from console.ui.screens.quit_dialog import QuitDialog
from console.ui.screens.thin_dialog import ThinDialog
from console.ui.theme import ACCENT, DIM
from console.ui.widgets.checkpoints import CheckpointsPane
from console.ui.widgets.choices import Choices
from console.ui.widgets.line_view import LineView
from console.ui.widgets.loss_chart import LossChart
from console.ui.widgets.samples import SamplesPane
from console.ui.widgets.text import left

Section = tuple[str, type[DOMNode]]
"""A title and whose keys stand below it."""

_KEY_CELLS = 14
_NAME_CELLS = 14


class HelpScreen(ModalScreen[None]):
    """A list of keys in sections, one a part of the console."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss", "Close", id="help.close", tooltip="Close")
    ]

    def __init__(self, sections: Sequence[Section], *, is_read_only: bool = False) -> None:
        super().__init__()
        self._sections = sections
        self._hidden = CHANGING if is_read_only else frozenset()
        self._words = READ_ONLY_WORDS if is_read_only else {}

    def compose(self) -> ComposeResult:
        yield LineView(id="help")

    def on_mount(self) -> None:
        lines = [line for title, owner in self._sections for line in self._section(title, owner)]
        view = self.query_one(LineView)
        view.show_titles("Keys")
        view.styles.max_height = len(lines) + view.styles.gutter.height
        view.show_lines(len(lines), lines.__getitem__)

    def _section(self, title: str, owner: type[DOMNode]) -> Iterable[Content]:
        yield Content.styled(title, "bold")
        for binding in own_bindings(owner):
            if binding.id in self._hidden:
                continue
            # Two keys that look the same (`+` with and without shift) are one to a person.
            names = dict.fromkeys(self.app.get_key_display(each) for each in _single(binding))
            keys = " ".join(names)
            yield Content.assemble(
                (f"  {left(keys, _KEY_CELLS)}", ACCENT),
                left(binding.description, _NAME_CELLS),
                (self._words.get(binding.id or "", binding.tooltip), DIM),
            )
        yield Content()


WATCHING: tuple[Section, ...] = (
    ("Panes", Dashboard),
    ("Loss chart", LossChart),
    ("Samples", SamplesPane),
    ("Checkpoints", CheckpointsPane),
    ("Lines of text", LineView),
    ("Two audits", ComparisonScreen),
    ("Help", HelpScreen),
)
"""What has keys of its own and changes nothing, with a title; the app adds itself."""

STEERING: tuple[Section, ...] = (
    ("Quit dialog", QuitDialog),
    ("Pivot wizard", WizardScreen),
    ("Arms in the wizard", PolicyTable),
    ("Source to add", SourceForm),
    ("Pivot under way", ProgressScreen),
    ("Audit fork", ForkScreen),
    ("Two runs", CompareScreen),
    ("Choices", Choices),
    ("Thin dialog", ThinDialog),
)
"""What a read-only console never shows."""


def own_bindings(owner: type[DOMNode]) -> list[Binding]:
    """The bindings that this class itself adds."""
    declared: Iterable[BindingType] = owner.__dict__.get("BINDINGS", [])
    return [binding for binding in declared if isinstance(binding, Binding)]


def _single(binding: Binding) -> list[Binding]:
    return list(Binding.make_bindings([binding]))

"""The fields of the fork screen: two branches, and for how many steps."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from console.fork.branches import Asked, Branch, Order, branch_of
from console.ui.screens.framed import put
from console.ui.theme import AMBER
from console.ui.widgets.fields import LabelledField, TextField
from console.ui.widgets.text import foreign
from trainer.rundir.outcomes import SettingsError

LETTERS = ("a", "b")
_CHANGES = "none; or optimizer.lr=1e-4 policy.books.cap=0.5"


class BranchFields(Vertical):
    """What is typed; Enter goes to the next field."""

    def __init__(self, run_name: str, step: int, steps: int) -> None:
        super().__init__(id="branch-fields")
        self._run_name = run_name
        self._step = step
        self._steps = steps

    def compose(self) -> ComposeResult:
        for letter in LETTERS:
            yield Static(Content.styled(f"Branch {letter.upper()}", "bold"), markup=False)
            yield LabelledField("name", id=f"name-{letter}")
            yield LabelledField("changes", id=f"changes-{letter}", placeholder=_CHANGES)
            yield Static(id=f"problem-{letter}", classes="branch-problem", markup=False)
        yield LabelledField("steps", id="steps")
        yield Static(id="problem-steps", classes="branch-problem", markup=False)

    def on_mount(self) -> None:
        for letter in LETTERS:
            self._field(f"name-{letter}").value = f"{self._run_name}-{self._step}-{letter}"
        self._field("steps").value = str(self._steps)

    def enter(self) -> None:
        """Take the focus."""
        self._field("changes-a").focus()

    def asked(self, order: Order) -> Asked | None:
        """What is asked for; None where something typed is wrong, which is told at its field."""
        branches = [self._branch(letter) for letter in LETTERS]
        steps = self._number_of_steps()
        known = tuple(branch for branch in branches if branch is not None)
        if len(known) < len(branches) or steps is None:
            return None
        if known[0].name == known[1].name:
            self.tell("b", "both branches have the same name")
            return None
        return Asked(step=self._step, branches=known, steps=steps, order=order)

    def tell(self, where: str, problem: str) -> None:
        """Tell what is wrong at branch `a` or `b`, or with the `steps`."""
        content = Content.styled(f" {foreign(problem)} ", AMBER) if problem else Content()
        put(self.query_one(f"#problem-{where}", Static), content)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.focus_next()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()

    def _field(self, name: str) -> TextField:
        return self.query_one(f"#{name}", TextField)

    def _branch(self, letter: str) -> Branch | None:
        name = self._field(f"name-{letter}").value.strip()
        changes = self._field(f"changes-{letter}").value
        note = f"fork of {self._run_name} at {self._step}: {changes.strip()}"
        try:
            branch = branch_of(name, changes, note=note)
        except SettingsError as error:
            self.tell(letter, str(error))
            return None
        self.tell(letter, "")
        return branch

    def _number_of_steps(self) -> int | None:
        text = self._field("steps").value.strip()
        steps = int(text) if text.isascii() and text.isdigit() else 0
        self.tell("steps", "" if steps else f"{text!r} is no number of steps above 0")
        return steps or None

"""Step 2: the arms with their floors and caps, sources added and removed, and why."""

from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from console.operations.actions import Place
from console.pivot.policy_draft import (
    Draft,
    Mistake,
    draft_of,
    is_changed,
    mistakes_of,
    name_mistake,
    preview_of,
)
from console.pivot.wizard_files import StartingPoint
from console.ui.keys import bindings_at
from console.ui.screens.framed import put
from console.ui.screens.pivot.policy_table import PolicyTable
from console.ui.screens.pivot.step import FIELD_PAGE_KEYS, PAGE_KEYS, Step
from console.ui.theme import AMBER, DIM
from console.ui.widgets.fields import LabelledField, TextField
from console.ui.widgets.text import foreign
from trainer.rundir.config.settings import SourceSettings

_FORM_ROWS, _NOTE_ROWS = 6, 2

_PREVIEW_WORDS = (
    "Probability of each arm: today; at first, when every arm begins at its cap; later, once it"
    " has the pulls and rewards of today again."
)


class SourceForm(Vertical):
    """Name and path of a source to add, and what is wrong with them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.WIZARD_SOURCE)

    class Entered(Message):
        """Both are given: its text is to be counted."""

        def __init__(self, name: str, path: str) -> None:
            super().__init__()
            self.name = name
            self.path = path

    class Closed(Message):
        """No source is added."""

    def __init__(self, folder: str) -> None:
        super().__init__(id="source-form")
        self._folder = folder

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("Add a source   Enter counts it   Esc no", DIM), markup=False)
        yield LabelledField("name", id="source-name", placeholder="letters, digits, - and _")
        where = f"file, glob, *.jsonl or python:docs; from {foreign(self._folder)}"
        yield LabelledField("text", id="source-path", placeholder=where)
        yield Static(id="source-problem", markup=False)

    def open(self) -> None:
        """Show it empty and take the focus."""
        for field in self.query(TextField):
            field.clear()
        self.say("")
        self.display = True
        self.query_one("#source-name").focus()

    def close(self) -> None:
        """Hide it."""
        self.display = False

    def say(self, words: str, *, is_wrong: bool = True) -> None:
        """Tell what is wrong, or going on, under the fields."""
        style = AMBER if is_wrong else DIM
        content = Content.styled(f" {foreign(words)} ", style) if words else Content()
        put(self.query_one("#source-problem", Static), content)

    def action_close(self) -> None:
        """Ask for it to be closed; nothing is added."""
        self.post_message(self.Closed())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        name, path = (field.value.strip() for field in self.query(TextField))
        if event.input.id == "source-name" and not path:
            self.query_one("#source-path").focus()
        elif not path:
            self.say("where is its text? give a file, a glob or python:docs")
        else:
            self.post_message(self.Entered(name, path))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()


class Policy(Step):
    """Keeps the draft; nothing of it is anywhere else until the review is confirmed."""

    WORDS = _PREVIEW_WORDS
    KEYS = (
        "digits type   Enter take   ← → floor, cap   ↑ ↓ arm   a add   x remove   Tab note   "
        + PAGE_KEYS
    )

    class CountWanted(Message):
        """The text of a source is to be counted before it is added."""

        def __init__(self, name: str, path: str) -> None:
            super().__init__()
            self.name = name
            self.path = path

    def __init__(self, folder: str) -> None:
        super().__init__(id="pivot-policy")
        self._folder = folder
        self._starting_point: StartingPoint | None = None
        self._told: tuple[Mistake, ...] = ()
        self._counted: Policy.CountWanted | None = None
        """What is being counted: the answer to anything else comes too late."""
        self._note_before = ""
        """What the note was when its field took the focus."""
        self.draft = Draft()

    def compose(self) -> ComposeResult:
        yield PolicyTable(id="policy-table")
        form = SourceForm(self._folder)
        form.display = False
        yield form
        note = "a note for the history, if you like"
        yield LabelledField("why", id="policy-note", placeholder=note)

    def enter(self) -> None:
        """Take the focus."""
        self.screen.set_focus(self.query_one(PolicyTable))

    def keys(self) -> str:
        """Letters are typed in the fields, and are keys in the table."""
        if self.query_one(PolicyTable).has_focus:
            return self.KEYS
        if self._has_note:
            return f"Enter take, to the arms   Esc as it was, to the arms   {FIELD_PAGE_KEYS}"
        return f"Enter next, count its text   Esc add none   {FIELD_PAGE_KEYS}"

    def forget(self) -> bool:
        """Put the note back as it was, and go to the arms."""
        if not self._has_note:
            return False
        self._note.value = self._note_before
        self.enter()
        return True

    @property
    def _note(self) -> TextField:
        return self.query_one("#policy-note", TextField)

    @property
    def _has_note(self) -> bool:
        return self._note.has_focus

    def on_descendant_focus(self) -> None:
        if self._has_note:
            self._note_before = self._note.value

    def on_resize(self) -> None:
        self._fit()

    def begin(self, starting_point: StartingPoint) -> None:
        """Begin with today's policy."""
        self._starting_point, self.draft = starting_point, draft_of(starting_point.settings)
        self._draw()

    def refuse(self, problem: str) -> None:
        """The files say no: the message is shown at its arm, or under all of them."""
        arms = (arm.name for arm in self.draft.kept)
        named = next((n for n in arms if problem.startswith(_starts(n))), "")
        self._told = (Mistake(arm=named, message=problem),)
        self._draw()

    def problem(self) -> str:
        """Why it can't go on from here; empty if it can."""
        if self.query_one(SourceForm).display:
            return "the source is not added yet: Enter counts it, Esc drops it"
        mistakes = mistakes_of(self.draft)
        if mistakes:
            return mistakes[0].message
        return "" if is_changed(self.draft) else "nothing is changed: a pivot needs another policy"

    def add(self, wanted: CountWanted, source: SourceSettings, about: str) -> None:
        """A source was counted: it is an arm of the draft, unless it isn't wanted any more."""
        if wanted is self._counted:
            self._close_form()
            self._take(self.draft.added(wanted.name, source, about))

    def refuse_source(self, wanted: CountWanted, problem: str) -> None:
        """A source can't be added."""
        if wanted is self._counted:
            self.query_one(SourceForm).say(problem)

    def on_policy_table_changed(self, event: PolicyTable.Changed) -> None:
        event.stop()
        self._take(event.draft)

    def on_policy_table_add_wanted(self, event: PolicyTable.AddWanted) -> None:
        event.stop()
        self.query_one(SourceForm).open()
        self._fit()

    def on_source_form_closed(self, event: SourceForm.Closed) -> None:
        event.stop()
        self._close_form()

    def on_source_form_entered(self, event: SourceForm.Entered) -> None:
        event.stop()
        form = self.query_one(SourceForm)
        if wrong := name_mistake(self.draft, event.name):
            form.say(wrong)
            return
        form.say("counting its text …", is_wrong=False)
        self._counted = self.CountWanted(event.name, event.path)
        self.post_message(self._counted)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.draft = replace(self.draft, note=event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.enter()

    def _close_form(self) -> None:
        """First the focus goes: a field that is hidden while it has it would take it away."""
        self._counted = None
        self.enter()
        self.query_one(SourceForm).close()
        self._fit()

    def _fit(self) -> None:
        """The table as high as its lines, but leave room for what is under it."""
        taken = _NOTE_ROWS + _FORM_ROWS * self.query_one(SourceForm).display
        self.query_one(PolicyTable).styles.max_height = max(self.size.height - taken, 3)

    def _take(self, draft: Draft) -> None:
        # The note's field is the one that knows the note.
        self.draft, self._told = replace(draft, note=self.draft.note), ()
        self._draw()

    def _draw(self) -> None:
        if self._starting_point is None:
            return
        preview = preview_of(self.draft, self._starting_point.settings, self._starting_point.arms)
        table = self.query_one(PolicyTable)
        n_today = sum(arm.was is not None for arm in self.draft.arms)
        table.show_titles("arms", f"{n_today} today, {len(self.draft.kept)} then")
        table.show(self.draft, self._starting_point.arms, preview, self._told)


def _starts(name: str) -> tuple[str, ...]:
    return tuple(f"{section}.{name}{end}" for section in ("sources", "policy") for end in ".:")

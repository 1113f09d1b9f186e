"""The table in which floors and caps are typed in place."""

from collections.abc import Mapping
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from console.operations.actions import Place
from console.pivot.policy_draft import Draft, Field, Mistake, mistakes_of
from console.ui.keys import bindings_at
from console.ui.screens.pivot.policy_lines import Cell, Table, table_lines
from console.ui.widgets.line_view import LineView
from trainer.rundir.config.policy import ArmPreview
from trainer.rundir.state import ArmState

_TYPED = frozenset("0123456789.")


class PolicyTable(LineView):
    """A cursor on the floors and caps; digits type over the one that it is on."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Place.WIZARD_POLICY)

    class Changed(Message):
        """The draft is another now."""

        def __init__(self, draft: Draft) -> None:
            super().__init__()
            self.draft = draft

    class AddWanted(Message):
        """A source shall be added."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._draft = Draft()
        self._states: Mapping[str, ArmState] = {}
        self._preview: Mapping[str, ArmPreview] | None = None
        self._others: tuple[Mistake, ...] = ()
        self._row = 0
        self._field = Field.FLOOR
        self._before: str | None = None
        """What the field held before it was typed in; None: nothing is being typed."""

    @property
    def is_typing(self) -> bool:
        return self._before is not None

    def show(
        self,
        draft: Draft,
        states: Mapping[str, ArmState],
        preview: Mapping[str, ArmPreview] | None,
        others: tuple[Mistake, ...] = (),
    ) -> None:
        """Show this draft; `others` are mistakes that only the files could tell."""
        self._draft, self._states, self._preview, self._others = draft, states, preview, others
        self._row = min(self._row, max(len(draft.arms) - 1, 0))
        self._draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Escape is for the screen unless something is being typed."""
        return action != "forget" or self.is_typing

    async def on_key(self, event: events.Key) -> None:
        """Type, or act at once: a binding would only be looked for when the key has bubbled up,
        after digits that were typed behind it.
        """
        character = event.character or ""
        if character and character in _TYPED and self._can_type():
            self._type((self._text() if self.is_typing else "") + character)
        elif not await self._act(event.key):
            return
        event.stop()
        event.prevent_default()

    async def _act(self, key: str) -> bool:
        for binding in self._bindings.key_to_bindings.get(key, []):
            if await self.app.run_action(binding.action, self):
                return True
        return False

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._before = None
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def action_move(self, by: int) -> None:
        """Take what was typed and go to another arm."""
        self._before = None
        self._row = min(max(self._row + by, 0), max(len(self._draft.arms) - 1, 0))
        self._draw()

    def action_turn(self, to: int) -> None:
        """Take what was typed and go to the floor or the cap."""
        self._before = None
        self._field = list(Field)[to]
        self._draw()

    def action_take(self) -> None:
        """Take what was typed; with nothing typed, or after it, go down."""
        self.action_move(1)

    def action_erase(self) -> None:
        """Take back the last character of the field."""
        if self._can_type():
            self._type(self._text()[:-1])

    def action_remove(self) -> None:
        """Remove the source of this row, or take it back."""
        if self._draft.arms:
            self._before = None
            self._post(self._draft.toggled(self._draft.arms[self._row].name))

    def action_add(self) -> None:
        """Ask for a source to be added."""
        self._before = None
        self.post_message(self.AddWanted())

    def action_forget(self) -> None:
        """Put back what the field held."""
        before, self._before = self._before, None
        if before is not None:
            self._post(self._draft.edited(self._arm(), self._field, before))

    def _can_type(self) -> bool:
        return bool(self._draft.arms) and not self._draft.arms[self._row].is_removed

    def _arm(self) -> str:
        return self._draft.arms[self._row].name

    def _text(self) -> str:
        return self._draft.arms[self._row].text(self._field)

    def _type(self, text: str) -> None:
        if self._before is None:
            self._before = self._text()
        self._post(self._draft.edited(self._arm(), self._field, text))

    def _post(self, draft: Draft) -> None:
        self._draft = draft
        self._row = min(self._row, max(len(draft.arms) - 1, 0))
        self.post_message(self.Changed(draft))

    def _draw(self) -> None:
        cell = None
        if self.has_focus and self._draft.arms:
            cell = Cell(arm=self._arm(), field=self._field, is_typing=self.is_typing)
        table = Table(
            draft=self._draft,
            states=self._states,
            preview=self._preview,
            mistakes=(*mistakes_of(self._draft), *self._others),
            cell=cell,
        )
        lines = table_lines(table, self.line_width)
        self.show_lines(len(lines), lambda index: lines[index].content)
        if cell is not None:
            self._keep_in_sight([line.arm for line in lines].index(cell.arm))

    def _keep_in_sight(self, line: int) -> None:
        top, height = self.scroll_offset.y, self.rows_in_sight
        if line < top or line <= 2:
            self.scroll_to(y=0 if line <= 2 else line, animate=False)
        elif line >= top + height > top:
            self.scroll_to(y=line - height + 1, animate=False)

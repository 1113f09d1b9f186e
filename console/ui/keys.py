"""Bindings from the table of actions."""

from textual.binding import Binding, BindingType

from console.operations.actions import Action, Place, actions_at


def bindings_at(place: Place) -> list[BindingType]:
    """The keys of one part of the console; each has an id, so that a key map can move it."""
    return [binding_of(action) for action in actions_at(place)]


def binding_of(action: Action) -> Binding:
    """The binding of an action that has a key."""
    return Binding(
        action.keys,
        action.does,
        action.title,
        show=action.is_shown,
        key_display=action.key_display,
        priority=action.is_priority,
        tooltip=action.description,
        id=action.id,
    )

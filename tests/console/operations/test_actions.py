"""The table of actions against the bindings and verbs that come from it."""

import importlib
import pkgutil
from collections import Counter

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

from console import ui
from console.operations.actions import ACTIONS, READ_ONLY, Action, action_of, refusals
from console.ui.app import ConsoleApp
from console.verbs.table import VERBS
from tests.console import fixed_run

KEYED = [action for action in ACTIONS if action.keys]


def classes_with_keys() -> list[type[DOMNode]]:
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(ui.__path__, "console.ui.")
    ]
    return [
        thing
        for module in modules
        for thing in vars(module).values()
        if isinstance(thing, type) and thing.__module__ == module.__name__
        if issubclass(thing, DOMNode) and "BINDINGS" in thing.__dict__
    ]


def test_every_binding_of_the_console_is_in_the_table_and_every_key_of_the_table_is_bound() -> None:
    bound = Counter(
        binding.id if isinstance(binding, Binding) else repr(binding)
        for owner in classes_with_keys()
        for binding in owner.__dict__["BINDINGS"]
    )
    assert bound == Counter(action.id for action in KEYED)


@pytest.mark.parametrize("owner", classes_with_keys(), ids=lambda owner: owner.__name__)
def test_every_key_calls_a_method_that_is_there(owner: type[DOMNode]) -> None:
    for binding in owner.__dict__["BINDINGS"]:
        name = binding.action.partition("(")[0].removeprefix("app.")
        places = (owner, ConsoleApp)
        assert any(hasattr(place, f"action_{name}") for place in places), binding.action


def test_every_verb_is_in_the_table_and_every_verb_of_the_table_can_be_typed() -> None:
    assert set(VERBS) == {action.verb for action in ACTIONS if action.verb}
    assert all(VERBS[action.verb].help == action.verb_help for action in ACTIONS if action.verb)


def test_no_two_actions_share_an_id_and_none_is_without_words() -> None:
    assert max(Counter(action.id for action in ACTIONS).values()) == 1
    for action in ACTIONS:
        assert action.keys or action.verb
        assert bool(action.keys) == bool(action.title and action.description and action.does)
        assert bool(action.verb) == bool(action.verb_help)


@pytest.mark.parametrize(
    "action", [action for action in KEYED if action.changes_run], ids=lambda action: action.id
)
def test_a_read_only_console_refuses_whatever_changes_the_run(action: Action) -> None:
    assert action.refusal(fixed_run.fixed_view(), is_read_only=True) == READ_ONLY
    assert action.refusal(None, is_read_only=False) == ""


def test_what_the_run_cant_take_is_told_and_changes_with_the_run() -> None:
    running, stopped = fixed_run.fixed_view(), fixed_run.stopped_view()
    for view, key, words in (
        (running, "run.resume", "the trainer is running"),
        (stopped, "run.checkpoint", "no trainer is running"),
    ):
        assert action_of(key).refusal(view, is_read_only=False) == words
    assert refusals(running) != refusals(stopped)

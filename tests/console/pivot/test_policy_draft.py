"""The draft of a new policy: what is a mistake, what is a change, what would follow."""

from dataclasses import replace

import pytest

from console.pivot.policy_draft import (
    Draft,
    Field,
    change_of,
    draft_of,
    is_changed,
    mistakes_of,
    name_mistake,
    number_in,
    preview_of,
    size_words,
)
from trainer.rundir.config.policy_change import Bounds
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.config.settings import Settings, SourceSettings
from trainer.rundir.sources.source_size import SourceSize
from trainer.rundir.state import ArmState

TOML = """
[sources.docs]
path = "python:docs"
[sources.code]
path = "python:code"
[policy.docs]
floor = 0.1
cap = 0.123456789
"""
ARMS = {
    "docs": ArmState(pulls=30, ema_reward=0.5, probability=0.6),
    "code": ArmState(pulls=20, ema_reward=0.3, probability=0.4),
}
LETTERS = SourceSettings(path="letters.txt")


@pytest.fixture
def settings() -> Settings:
    return parse_settings(TOML)


@pytest.fixture
def draft(settings: Settings) -> Draft:
    return draft_of(settings)


def test_draft_that_nobody_touched_changes_nothing(draft: Draft) -> None:
    assert mistakes_of(draft) == ()
    assert not is_changed(draft)
    assert [arm.cap for arm in draft.arms] == ["0.123457", "1"], "shown rounded, yet unchanged"


def test_same_number_written_another_way_is_no_change(draft: Draft) -> None:
    assert not is_changed(draft.edited("docs", Field.FLOOR, "0.100"))


def test_change_names_only_what_is_another(draft: Draft) -> None:
    edited = draft.edited("code", Field.CAP, ".4").toggled("docs")
    edited = replace(edited.added("letters", LETTERS, "3 documents"), note=" why ")
    change = change_of(edited)
    assert change.bounds == {"code": Bounds(cap=0.4)}
    assert change.removed == ("docs",)
    assert change.added == {"letters": LETTERS}
    assert change.note == "why"


def test_new_source_begins_at_the_default_of_the_rules_and_keeps_what_is_typed() -> None:
    newer = draft_of(parse_settings("rules = 2\n" + TOML)).added("letters", LETTERS, "")
    assert (newer.arms[-1].floor, newer.arms[-1].cap) == ("0", "8")
    assert change_of(newer).bounds == {}
    typed = newer.edited("letters", Field.CAP, "1")
    assert change_of(typed).bounds == {"letters": Bounds(cap=1.0)}


@pytest.mark.parametrize("text", ["", ".", "-1", "nan", "inf", "1e999", "x"])
def test_what_is_no_number_from_0_up_is_a_mistake_at_its_field(draft: Draft, text: str) -> None:
    assert number_in(text) is None
    (mistake,) = mistakes_of(draft.edited("code", Field.CAP, text))
    assert (mistake.arm, mistake.field) == ("code", Field.CAP)


def test_floor_above_cap_is_a_mistake_at_the_floor(draft: Draft) -> None:
    (mistake,) = mistakes_of(draft.edited("docs", Field.FLOOR, "0.5"))
    assert (mistake.arm, mistake.field) == ("docs", Field.FLOOR)
    assert mistake.message == "floor 0.5 is above cap 0.123457: lower it, or raise the cap"


def test_all_caps_0_and_no_source_left_are_mistakes(draft: Draft) -> None:
    zero = draft.edited("docs", Field.FLOOR, "0").edited("docs", Field.CAP, "0")
    assert mistakes_of(zero) == ()
    (mistake,) = mistakes_of(zero.edited("code", Field.CAP, "0"))
    assert "every cap is 0" in mistake.message
    (mistake,) = mistakes_of(draft.toggled("docs").toggled("code"))
    assert "no source is left" in mistake.message


def test_removed_arm_makes_no_mistake_and_comes_back_as_it_was(draft: Draft) -> None:
    wrong = draft.edited("docs", Field.FLOOR, "9")
    assert mistakes_of(wrong.toggled("docs")) == ()
    assert wrong.toggled("docs").toggled("docs") == wrong


def test_new_source_that_is_removed_is_dropped(draft: Draft) -> None:
    assert draft.added("letters", LETTERS, "").toggled("letters") == draft


def test_name_of_a_new_source_is_plain_and_not_taken(draft: Draft) -> None:
    assert name_mistake(draft, "letters-2_b") == ""
    assert "letters, digits" in name_mistake(draft, "let ters")
    assert "letters, digits" in name_mistake(draft, "")
    assert "there already" in name_mistake(draft, "docs")


def test_preview_follows_the_draft_and_stops_at_a_mistake(draft: Draft, settings: Settings) -> None:
    edited = draft.edited("docs", Field.CAP, "1")
    preview = preview_of(edited, settings, ARMS)
    assert preview is not None
    assert (preview["docs"].now, preview["docs"].first) == (0.6, 0.5)
    assert preview_of(edited.edited("docs", Field.CAP, "x"), settings, ARMS) is None
    assert preview_of(edited.toggled("docs").toggled("code"), settings, ARMS) is None
    removed = preview_of(edited.toggled("docs"), settings, ARMS)
    assert removed is not None
    assert (removed["docs"].first, removed["code"].first) == (None, 1.0)


def test_size_of_a_source_in_words() -> None:
    size = SourceSize(documents=1200, text_bytes=5_200_000, is_exact=False, tokens=1_300_000)
    words = "about 1,200 documents, about 5.20 MB, about 1,300,000 tokens"
    assert size_words(size) == words
    exact = SourceSize(documents=3, text_bytes=70, is_exact=True, tokens=None)
    assert size_words(exact) == "3 documents, 70 B"

"""The new policy as it is typed in the wizard: its mistakes, and what would follow; pure."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from console import formatting
from trainer.rundir.config.policy import ArmPreview, preview_policy
from trainer.rundir.config.policy_change import Bounds, PolicyChange
from trainer.rundir.config.settings import ArmPolicy, Settings, SourceSettings
from trainer.rundir.sources.source_size import SourceSize
from trainer.rundir.state import ArmState

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_UNBOUND = ArmPolicy()


class Field(StrEnum):
    """What of an arm can be edited."""

    FLOOR = "floor"
    CAP = "cap"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmDraft:
    """One arm as it stands on the screen; floor and cap are text until they are numbers."""

    name: str
    source: SourceSettings
    floor: str
    cap: str
    was: ArmPolicy | None = None
    """Its bounds today; None: the source is new."""
    default: ArmPolicy = _UNBOUND
    """What a new source has where nothing is typed."""
    about: str = ""
    """How much text a new source has, in words."""
    is_removed: bool = False

    def text(self, field: Field) -> str:
        """As typed."""
        return self.floor if field is Field.FLOOR else self.cap


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """Why the draft is no policy yet; without an arm it is about all of them."""

    message: str
    arm: str = ""
    field: Field | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """All arms of the new policy in the order of the table, and why it is made."""

    arms: tuple[ArmDraft, ...] = ()
    note: str = ""
    default: ArmPolicy = _UNBOUND
    """What a source of this run has without bounds of its own."""

    @property
    def kept(self) -> tuple[ArmDraft, ...]:
        """The arms that the new phase has."""
        return tuple(arm for arm in self.arms if not arm.is_removed)

    def edited(self, name: str, field: Field, text: str) -> "Draft":
        """With another text in one field."""
        if field is Field.FLOOR:
            return self._changed(name, lambda arm: replace(arm, floor=text))
        return self._changed(name, lambda arm: replace(arm, cap=text))

    def toggled(self, name: str) -> "Draft":
        """With the source removed or, if it was, back; a new one is dropped."""
        kept = tuple(arm for arm in self.arms if arm.name != name or arm.was is not None)
        flip = replace(self, arms=kept)
        return flip._changed(name, lambda arm: replace(arm, is_removed=not arm.is_removed))

    def added(self, name: str, source: SourceSettings, about: str) -> "Draft":
        """With one more source at the end, under the bounds that a source has by default."""
        arm = ArmDraft(
            name=name,
            source=source,
            floor=_shown(self.default.floor),
            cap=_shown(self.default.cap),
            default=self.default,
            about=about,
        )
        return replace(self, arms=(*self.arms, arm))

    def _changed(self, name: str, change: Callable[[ArmDraft], ArmDraft]) -> "Draft":
        arms = tuple(change(arm) if arm.name == name else arm for arm in self.arms)
        return replace(self, arms=arms)


def draft_of(settings: Settings) -> Draft:
    """Today's policy, nothing changed yet."""
    return Draft(
        arms=tuple(
            ArmDraft(
                name=name, source=source, floor=_shown(was.floor), cap=_shown(was.cap), was=was
            )
            for name, source in settings.sources.items()
            for was in [settings.bounds_of(name)]
        ),
        default=settings.default_bounds,
    )


def number_in(text: str) -> float | None:
    """The finite number from 0 up that was typed; None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None


def mistakes_of(draft: Draft) -> tuple[Mistake, ...]:
    """What keeps the draft from being a policy, each with the field where it is."""
    found = tuple(mistake for arm in draft.kept for mistake in _mistakes_in(arm))
    if not draft.kept:
        return (Mistake(message="no source is left to train on: keep or add one"),)
    if not found and not any(number_in(arm.cap) for arm in draft.kept):
        return (Mistake(message="every cap is 0, so no arm could be pulled: raise one"),)
    return found


def _mistakes_in(arm: ArmDraft) -> Iterator[Mistake]:
    for field in Field:
        text = arm.text(field)
        if number_in(text) is None:
            message = f"{field} {text!r} is not a number from 0 up"
            yield Mistake(arm=arm.name, field=field, message=message)
            return
    if (number_in(arm.floor) or 0.0) > (number_in(arm.cap) or 0.0):
        message = f"floor {arm.floor} is above cap {arm.cap}: lower it, or raise the cap"
        yield Mistake(arm=arm.name, field=Field.FLOOR, message=message)


def name_mistake(draft: Draft, name: str) -> str:
    """Why a new source can't have this name; empty if it can."""
    if not _NAME.fullmatch(name):
        return "a name is letters, digits, - and _"
    if any(arm.name == name for arm in draft.arms):
        return f"{name} is there already: rows given are counted by name, so take another"
    return ""


def change_of(draft: Draft) -> PolicyChange:
    """What the draft changes; only for a draft without mistakes."""
    bounds = {arm.name: found for arm in draft.kept if (found := new_bounds(arm)) != Bounds()}
    return PolicyChange(
        bounds=bounds,
        added={arm.name: arm.source for arm in draft.kept if arm.was is None},
        removed=tuple(arm.name for arm in draft.arms if arm.is_removed),
        note=draft.note.strip(),
    )


def is_changed(draft: Draft) -> bool:
    """Whether the draft is another policy than today's."""
    change = change_of(draft)
    return bool(change.bounds or change.added or change.removed)


def preview_of(
    draft: Draft, settings: Settings, arms: Mapping[str, ArmState]
) -> dict[str, ArmPreview] | None:
    """Each arm's probabilities under the draft; None while it has mistakes."""
    if mistakes_of(draft):
        return None
    policy = {
        arm.name: ArmPolicy(floor=number_in(arm.floor) or 0.0, cap=number_in(arm.cap) or 0.0)
        for arm in draft.kept
    }
    sources = {arm.name: arm.source for arm in draft.kept}
    return preview_policy(replace(settings, sources=sources, policy=policy), arms)


def size_words(size: SourceSize) -> str:
    """`about 1,200 documents, 5.2 MB, about 1,300,000 tokens`."""
    about = "" if size.is_exact else "about "
    words = f"{about}{size.documents:,} documents, {about}{formatting.size(size.text_bytes)}"
    return words if size.tokens is None else f"{words}, about {size.tokens:,} tokens"


def new_bounds(arm: ArmDraft) -> Bounds:
    """What of the arm's bounds is another than today: text that is no number isn't."""
    was = arm.was or arm.default
    floor, cap = number_in(arm.floor), number_in(arm.cap)
    # What is shown rounded and wasn't touched is no change.
    return Bounds(
        floor=None if arm.floor == _shown(was.floor) or floor == was.floor else floor,
        cap=None if arm.cap == _shown(was.cap) or cap == was.cap else cap,
    )


def _shown(value: float) -> str:
    return f"{value:.6g}"

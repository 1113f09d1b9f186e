"""The verdict over a run in a few words, the same on the screen and for scripts; pure."""

from console import formatting
from console.health.verdict import Reason
from console.view.run_view import RunView, Severity

_WRONG = (Severity.ATTENTION, Severity.BAD)


def verdict_words(view: RunView) -> str:
    """`✓ healthy`, `✖ ill`, `? health unknown: 3 of 8 audits`.

    Where something else is wrong than what the record tells, healthy says of what.
    """
    verdict = view.health.verdict
    if verdict == "ill":
        return "✖ ill"
    if verdict == "unknown":
        return f"? health {view.health.headline}"
    is_well = view.status.severity not in _WRONG and not view.alarms
    return "✓ healthy" if is_well else "✓ healthy by its record"


def ill_words(reason: Reason, now: float, *, is_dated: bool = False) -> str:
    """`✖ since step ~120,000 (9 d 4 h): audit score 75 → 37`, or with its date."""
    t = reason.since_t
    if t is None:
        return f"✖ {reason.words()}"
    return f"✖ {reason.words(formatting.date(t, now) if is_dated else formatting.age(now - t))}"

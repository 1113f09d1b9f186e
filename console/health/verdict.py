"""What the judge says of a run: a verdict, its reasons, and a line for each series."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from console import formatting

Verdict = Literal["healthy", "ill", "unknown"]
Kind = Literal[
    "spike",
    "divergence",
    "nothing learned",
    "plateau",
    "source",
    "memorising",
    "val_loss",
    "score",
    "step time",
    "clipping",
]
Certainty = Literal["certain", "likely"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Something that is wrong with a run, and since when."""

    kind: Kind
    series: str
    """As in its `SeriesLine`."""
    since_step: int
    past: float
    """The series' level before."""
    now: float
    text: str
    """For a person: `audit score 75 → 37`."""
    sigmas: float
    """How many standard errors the change is; infinite where that has no meaning."""

    is_apart: bool = True
    """Not a share of what the training loss does."""
    since_t: float | None = None
    """Wall clock, seconds, of that step, where who asked the judge has told it."""

    @property
    def certainty(self) -> Certainty:
        return "certain" if self.sigmas >= 10 else "likely"

    def words(self, when: str = "") -> str:
        """`since step ~120,000 (9 d 4 h): audit score 75 → 37`; `when` is that step's time."""
        told = f" ({when})" if when else ""
        return f"since step ~{formatting.about_steps(self.since_step)}{told}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesLine:
    """A series now against its own past."""

    series: str
    now: float | None
    past: float | None
    """Its level before it went wrong; where it is well its best one, or its usual one."""
    since_step: int | None
    """`None`: it is well, or nothing is known."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The first reason is the one to be told first: the cause of the others, or the oldest."""

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()
    lines: tuple[SeriesLine, ...] = ()
    memorised: Mapping[str, Reason] = field(default_factory=dict)
    """By source that is learned by heart, whether or not that makes the run ill."""
    why_unknown: str = ""
    """For a person: what there is too little of."""

    @property
    def headline(self) -> str:
        """`healthy`, `since step ~120,000: audit score 75 → 37`, `unknown: 3 of 8 audits`."""
        if self.reasons:
            return self.reasons[0].words()
        return f"unknown: {self.why_unknown}" if self.verdict == "unknown" else "healthy"

    def as_json(self) -> dict[str, Any]:
        """For `status --json`."""
        reasons = [
            {
                "kind": reason.kind,
                "series": reason.series,
                "since_step": reason.since_step,
                "since_t": reason.since_t,
                "text": reason.text,
                "certainty": reason.certainty,
            }
            for reason in self.reasons
        ]
        unknown = self.why_unknown or None
        return {"verdict": self.verdict, "reasons": reasons, "why_unknown": unknown}


UNKNOWN = Health(verdict="unknown", why_unknown="nothing recorded")
NOT_JUDGED = Health(verdict="unknown", why_unknown="not judged yet")

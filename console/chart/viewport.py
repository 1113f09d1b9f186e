"""Which steps are in sight: a range that stands still, or one that stays with the newest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

FEWEST = 10
"""Zooming in ends at so many steps."""
_MARGIN = 10
"""A step that is brought into sight keeps a tenth of the window between itself and the edge."""


class Extent(NamedTuple):
    """Steps from `first` to `last`, both included."""

    first: int
    last: int

    @property
    def span(self) -> int:
        return self.last - self.first + 1

    def holds(self, step: int) -> bool:
        return self.first <= step <= self.last


@dataclass(frozen=True, kw_only=True)
class Viewport:
    """A window of `span` steps that ends at `last`.

    No `span` is the whole run, no `last` the newest step, whichever that is.
    """

    span: int | None = None
    last: int | None = None

    def window(self, run: Extent) -> Extent:
        """The steps in sight of a run that has these."""
        if self.span is None or self.span >= run.span:
            return run
        last = run.last if self.last is None else min(self.last, run.last)
        last = max(last, run.first + self.span - 1)
        return Extent(last - self.span + 1, last)

    def is_whole(self, run: Extent) -> bool:
        """Whether all steps are in sight."""
        return self.window(run) == run

    def following(self) -> Viewport:
        """As many steps, up to the newest."""
        return Viewport(span=self.span)

    def zoomed(self, run: Extent, factor: float, around: int | None) -> Viewport:
        """`factor` times as many steps; `around` keeps its place, else the newest end does."""
        window = self.window(run)
        span = max(round(window.span * factor), min(FEWEST, run.span))
        if span >= run.span:
            return Viewport()
        if around is None:
            return Viewport(span=span, last=self.last)
        share = (around - window.first) / window.span
        return _ending(run, span, round(around - share * span) + span - 1)

    def panned(self, run: Extent, share: float) -> Viewport:
        """Moved by a share of its width, to the newer steps if that is above 0."""
        window = self.window(run)
        by = round(share * window.span) or (1 if share > 0 else -1)
        return self if window == run else _ending(run, window.span, window.last + by, follow=True)

    def pinned(self, run: Extent) -> Viewport:
        """What is in sight now, whatever becomes the newest step; the whole run stays whole."""
        window = self.window(run)
        return self if self.span is None else Viewport(span=window.span, last=window.last)

    def with_step(self, run: Extent, step: int) -> Viewport:
        """Moved as far as it takes to have the step in sight, and something around it."""
        window = self.window(run)
        if window.holds(step) or window == run:
            return self
        margin = window.span // _MARGIN
        last = step + margin if step > window.last else step - margin + window.span - 1
        return _ending(run, window.span, last)


def between(run: Extent, one: int, other: int) -> Viewport:
    """The window from one step to another, in whichever order."""
    first, last = sorted((one, other))
    span = max(last - first + 1, min(FEWEST, run.span))
    return Viewport() if span >= run.span else _ending(run, span, first + span - 1)


def _ending(run: Extent, span: int, last: int, *, follow: bool = False) -> Viewport:
    if follow and last >= run.last:
        return Viewport(span=span)
    return Viewport(span=span, last=min(max(last, run.first + span - 1), run.last))

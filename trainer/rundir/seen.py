"""When a run was given a document, as the process that finds it tells whoever asks."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A step that had tokens of it."""

    step: int
    phase: int
    row: int
    """In the batch, from 1."""
    t: float | None
    """Wall clock, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenDocument:
    """A document of a source; all names and texts are foreign."""

    source: str
    file: str
    """As the source's path has it; empty: a `python:` source, or it was not kept."""
    row: int
    """Line, element or row of the file, from 1; 0: it was not kept."""
    document: int
    """Its number among the source's, from 1; 0: it was not kept."""
    text: str
    """What the words were found in, or how it begins."""
    n_rows: int
    """Of the source that have tokens of it."""
    sightings: tuple[Sighting, ...]
    next_in_rows: int | None
    """So many rows of the source are to come before the next one of it; `None`: its arm has no
    source in the phase under way."""
    next_in_steps: float | None
    """The same in steps, at the arm's share of late; `None`: unknown, or it has none."""

    def as_json(self) -> dict[str, Any]:
        """For scripts, and between the processes."""
        return asdict(self)


def document_of(told: Mapping[str, Any]) -> SeenDocument:
    """The document that `as_json` tells."""
    sightings = tuple(Sighting(**each) for each in told["sightings"])
    return SeenDocument(**{**told, "sightings": sightings})

"""Taking a checkpoint's loss on the whole held-out text: by a process of its own, with torch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from console.process.answers import answers_of
from trainer.rundir.evaluations import Evaluation, evaluation_of
from trainer.rundir.layout import RunDirectory

_MODULE = "trainer.evaluating"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How far it is."""

    source: str
    """Foreign text; empty while it is loading."""
    done: int
    total: int
    """Tokens."""


Told: TypeAlias = Reached | Evaluation | str
"""The evaluation comes last; a string is a note for a person."""


def evaluate(
    run: RunDirectory, *, step: int | None, sources: Sequence[str], device: str
) -> Iterator[Told]:
    """Evaluate the checkpoint of a step, or the newest; its process ends when nobody reads on.

    Raises `RunError` with the exit code that fits, or `OSError`.
    """
    arguments = [str(run.path.absolute())]
    arguments += [] if step is None else [f"--step={step}"]
    arguments += [f"--source={name}" for name in sources]
    arguments += [f"--device={device}"] if device else []
    for told in answers_of(_MODULE, arguments):
        if "note" in told:
            yield told["note"]
        elif (made := evaluation_of(told.get("evaluation"))) is not None:
            yield made
        else:
            yield Reached(**told)

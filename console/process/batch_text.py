"""Asking what steps of a run were fed: a process of its own has the tokenizer, and torch."""

from collections.abc import Iterator, Sequence

from console.process.answers import answers_of, answers_soon
from trainer.rundir.batch import Batch, batch_of
from trainer.rundir.layout import RunDirectory

_MODULE = "trainer.batch_text"


def batch_text(
    run: RunDirectory,
    step: int,
    *,
    around: int = 0,
    rows: Sequence[int] = (),
    with_losses: bool = False,
    device: str = "",
) -> Iterator[Batch]:
    """The step's batch, and those around it; with losses each comes again, with what its rows cost.

    Raises `RunError` with the exit code that fits, or `OSError`.
    """
    arguments = [str(run.path.absolute()), f"--step={step}", f"--around={around}"]
    arguments += [f"--row={row}" for row in rows]
    arguments += ["--losses"] if with_losses else []
    arguments += [f"--device={device}"] if device else []
    for told in answers_of(_MODULE, arguments):
        yield batch_of(told["batch"])


async def batch_text_soon(run: RunDirectory, step: int, *, with_losses: bool) -> Batch:
    """The step's batch, for a screen; raises as `batch_text`."""
    arguments = [str(run.path.absolute()), f"--step={step}"]
    arguments += ["--losses"] if with_losses else []
    batches = [batch_of(told["batch"]) async for told in answers_soon(_MODULE, arguments)]
    return batches[-1]

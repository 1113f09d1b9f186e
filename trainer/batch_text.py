"""`python -m trainer.batch_text`: what `andrea-console text` starts, since the tokenizer and, for
losses, torch are the trainer's.

It takes no lock and gives way to a trainer. It prints a line of JSON for each batch; asked for
losses, another one of the same batch with them; an error last.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trainer.answering import answer, tell
from trainer.proxy.past_batches import Draw, PastBatches
from trainer.proxy.tokenizer import load_tokenizer
from trainer.rundir.batch import Batch
from trainer.rundir.checkpoints.checkpoint import Checkpoint
from trainer.rundir.checkpoints.coverage import own_checkpoints, require_as_audited
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError


def main(argv: Sequence[str] | None = None) -> int:
    """Find, and tell."""
    arguments = _parse(argv)
    asked = Question(
        run=RunDirectory(arguments.run),
        step=arguments.step,
        around=arguments.around,
        rows=arguments.row,
        with_losses=arguments.losses,
        device=arguments.device,
    )

    def act() -> None:
        for batch in batches(asked):
            tell(batch=batch.as_json())

    return answer(act, arguments.run)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="trainer.batch_text")
    parser.add_argument("run", type=Path)
    parser.add_argument("--step", type=int, required=True)
    parser.add_argument("--around", type=int, default=0)
    parser.add_argument("--row", type=int, action="append", default=[])
    parser.add_argument("--losses", action="store_true")
    parser.add_argument("--device", default="")
    return parser.parse_args(argv)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which batches, and what of them."""

    run: RunDirectory
    step: int
    around: int = 0
    """So many steps before and after it, where there are so many."""
    rows: Sequence[int] = ()
    """Of each, from 1; all where there is none."""
    with_losses: bool = False
    device: str = ""
    """Another one than the run's."""


def batches(asked: Question) -> Iterator[Batch]:
    """The batches; with losses each once more, with what its rows cost.

    Raises as `PastBatches.draw`, and `RunError` where a checkpoint can't be used.
    """
    run = asked.run
    settings = load_settings(run.settings)
    if settings.trainer.command:
        raise SettingsError(f"{run.settings}: trainer.command names another trainer; ask that one")
    tokenizer = load_tokenizer(
        run.tokenizer, vocab_size=settings.model.vocab_size, settings=settings.tokenizer
    )
    past = PastBatches(run)
    first, last = asked.step - asked.around, asked.step + asked.around
    draws = [past.draw(asked.step)]
    if asked.around:
        draws = [past.draw(step) for step in past.steps if first <= step <= last]
    found = [draw.batch(tokenizer, asked.rows) for draw in draws]
    yield from found
    if asked.with_losses:
        for draw, batch in zip(draws, found, strict=True):
            yield _with_losses(asked, draw, batch)


def _with_losses(asked: Question, draw: Draw, batch: Batch) -> Batch:
    own = own_checkpoints(asked.run, draw.settings.model.n_params).checkpoints
    before = max((c for c in own if c.step < batch.step), key=lambda c: c.step, default=None)
    after = min((c for c in own if c.step >= batch.step), key=lambda c: c.step, default=None)
    losses_before, is_proven = _losses(asked, draw, before)
    losses_after, _ = _losses(asked, draw, after)
    told = [
        replace(
            row,
            loss_before=losses_before[row.row - 1] if losses_before else None,
            loss_after=losses_after[row.row - 1] if losses_after else None,
        )
        for row in batch.rows
    ]
    return replace(
        batch,
        rows=tuple(told),
        before=before.step if before else None,
        after=after.step if after else None,
        is_proven=is_proven,
    )


def _losses(
    asked: Question, draw: Draw, checkpoint: Checkpoint | None
) -> tuple[list[float], bool | None]:
    """Of all rows of the batch; whether they prove the draw."""
    if checkpoint is None:
        return [], None
    from trainer.engine.evaluation import SavedModel  # noqa: PLC0415  # torch takes seconds

    require_as_audited(asked.run, checkpoint)
    model = SavedModel(draw.settings, checkpoint, device=asked.device)
    rows = draw.tokens()
    is_just_before = checkpoint.step + 1 == draw.record.step
    is_proven = model.batch_loss(rows) == draw.record.loss if is_just_before else None
    return model.evaluate(rows), is_proven


if __name__ == "__main__":
    sys.exit(main())

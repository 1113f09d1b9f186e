"""What feeds the engine: each step the bandit picks an arm, and the arm gives its next rows."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.bandit import Bandit
from trainer.proxy.batches import count_rows, draw_rows, require_rows, rows_given
from trainer.proxy.held_out import piece_characters
from trainer.proxy.progress import Progress
from trainer.proxy.reward import compute_reward
from trainer.proxy.tokenizer import TextTokenizer, make_tokenizer
from trainer.proxy.tokens import TokenArray, TokenizedSource, tokenize_source
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError, SourceError
from trainer.rundir.records.loss_record import LossRecord
from trainer.rundir.sources.documents import source_stamp
from trainer.rundir.state import ArmState


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """One step's batch and where it is from."""

    arm: str
    rows: NDArray[np.int64]
    """(rows, context + 1) token ids."""


class Feed:
    """The sources that exist, the bandit over them, and how many rows each has given."""

    def __init__(
        self,
        *,
        settings: Settings,
        tokenizer: TextTokenizer,
        sources: Mapping[str, TokenizedSource],
        bandit: Bandit,
        given: Counter[str],
    ) -> None:
        self.tokenizer = tokenizer
        self.sources = sources
        self.bandit = bandit
        self._settings = settings
        self._given = given

    def pull(self, step: int) -> Pull:
        """The batch of update number `step`: a pure function of seed and history."""
        arm = self.bandit.choose(step)
        rows = draw_rows(
            self.sources[arm].train,
            context=self._settings.model.context,
            seed=self._settings.seed,
            arm=arm,
            rows_given=self._given[arm],
            rows=self._settings.rows,
        )
        return Pull(arm=arm, rows=rows)

    def reward(self, pull: Pull, loss: float) -> float:
        """What the arm earns by this step, in [0, 1]."""
        return compute_reward(pull.rows, loss=loss, ema_loss=self.bandit.ema_loss(pull.arm))

    def settle(self, pull: Pull, *, loss: float, reward: float) -> None:
        """Take the step in, once its update is applied."""
        self._given[pull.arm] += len(pull.rows)
        self.bandit.update(
            pull.arm, loss=loss, reward=reward, tokens=self._settings.train.batch_tokens
        )

    def rows_given(self, name: str) -> int:
        """Rows that the source has given over all phases."""
        return self._given[name]

    def held_out(self) -> dict[str, TokenArray]:
        """Held-out tokens by source: no batch ever draws from them."""
        return {name: source.held_out for name, source in self.sources.items()}

    def without_val_loss(self) -> dict[str, int]:
        """Sources whose held-out text doesn't fill a row, with the tokens of it."""
        context = self._settings.model.context
        return {
            name: len(tokens)
            for name, tokens in self.held_out().items()
            if not count_rows(tokens, context=context)
        }


def open_feed(
    run: RunDirectory,
    settings: Settings,
    *,
    phase: int,
    past: Iterable[LossRecord],
    remembered: Mapping[str, ArmState],
    is_new: bool,
    progress: Progress,
) -> Feed:
    """Tokenizer, tokens and bandit of a run that goes on after the `past` records.

    A source that is gone is an error in a new phase (`is_new`), else its arm is a zombie.
    Raises `SourceError`, `TokenizerError`, `PolicyError`, `HistoryError` or `OSError`.
    """
    present = _present_sources(run, settings, is_new)
    tokenizer = make_tokenizer(
        run.tokenizer,
        {name: settings.sources[name] for name in present},
        base=run.path,
        vocab_size=settings.model.vocab_size,
        progress=progress,
        piece_characters=piece_characters(settings),
    )
    sources = {}
    for name in present:
        sources[name] = tokenize_source(
            name,
            settings.sources[name],
            base=run.path,
            tokenizer=tokenizer,
            vocab_size=settings.model.vocab_size,
            directory=run.tokens,
            progress=progress,
            piece_characters=piece_characters(settings),
        )
        require_rows(name, sources[name].train, context=settings.model.context)
    bandit = Bandit(
        seed=settings.seed,
        phase=phase,
        available=present,
        policy={name: settings.bounds_of(name) for name in settings.sources},
        remembered=remembered,
    )
    records = list(past)
    require_told(run.loss, records)
    bandit.fold(records)
    given = rows_given(records, context=settings.model.context)
    return Feed(settings=settings, tokenizer=tokenizer, sources=sources, bandit=bandit, given=given)


def require_told(path: Path, records: Iterable[LossRecord]) -> None:
    """Raise `HistoryError` for a record that does not say what its batch was taken from."""
    for record in records:
        if not record.arm or not record.tokens or record.phase is None:
            raise HistoryError(
                f"{path}: the record of step {record.step or 0:,} does not tell its arm, tokens and"
                " phase, from which the batches of a resume follow; restore the file from a backup"
            )


def _present_sources(run: RunDirectory, settings: Settings, is_new: bool) -> list[str]:
    present = []
    for name, source in settings.sources.items():
        try:
            source_stamp(source, run.path)
        except SourceError as error:
            if is_new or len(settings.sources) == 1:
                raise SourceError(f"sources.{name}: {error}") from error
        else:
            present.append(name)
    return present

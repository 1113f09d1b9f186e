"""What a step of the past was fed: drawn anew from settings, history and tokens, as it was then."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.batches import next_rows, rows_given, take_rows
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.batch import Batch, BatchRow, RowDocument
from trainer.rundir.config.rules import RULES
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.environment import recorded_environment
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import shown
from trainer.rundir.outcomes import HistoryError, SettingsError, SourceError
from trainer.rundir.records.loss_record import LossRecord, canonical_losses, read_loss_records
from trainer.rundir.records.record_file import load_records
from trainer.rundir.sources.origins import origin_of
from trainer.rundir.sources.prepared import TokenIndex, read_index, token_folder
from trainer.rundir.sources.token_arrays import train_tokens
from trainer.rundir.state import read_state


class PastBatches:
    """The batches of a run's history; reads the run, and changes nothing."""

    def __init__(self, run: RunDirectory) -> None:
        """Raises `HistoryError` or `OSError`."""
        self.run = run
        loaded = load_records(run.loss, read_loss_records).records
        self.steps, self._records = canonical_losses(loaded)
        """Of the history, ascending, and their records."""
        self._phases: dict[int, _Phase] = {}

    def draw(self, step: int) -> "Draw":
        """The rows of a step.

        Raises:
            SettingsError: there is no such step, or the settings of its phase are none.
            HistoryError: its record doesn't tell what it was fed.
            SourceError: its tokens are gone.
            OSError: a file can't be read.
        """
        at = int(np.searchsorted(self.steps, step))
        if self.steps[at : at + 1] != [step]:
            last = self.steps[-1] if self.steps else 0
            raise SettingsError(f"step {step:,}: the history has steps 1 to {last:,}")
        record = self._records[at]
        if record.lost or not record.arm or not record.tokens or record.phase is None:
            raise HistoryError(
                f"{shown(self.run.loss)}: the record of step {step:,} doesn't tell what it was fed"
            )
        phase = self._phase(record.phase)
        before = (r for r in self._records[:at] if r.arm == record.arm and not r.lost)
        given = rows_given(before, context=phase.context)[record.arm]
        return Draw(record, phase, given)

    def _phase(self, number: int) -> "_Phase":
        if number not in self._phases:
            self._phases[number] = _Phase(self.run, number)
        return self._phases[number]


class _Phase:
    """The settings and tokens of a phase."""

    def __init__(self, run: RunDirectory, number: int) -> None:
        self.settings = load_settings(run.settings_of_phase(number))
        self.context = self.settings.model.context
        self._tokens = run.tokens
        state = read_state(run.state_of_phase(number))
        self._texts = recorded_environment(run, state, number).texts

    def source(self, arm: str) -> tuple[Path, TokenIndex]:
        """Folder and index of what it drew from."""
        folder = token_folder(self._tokens, arm)
        index = read_index(folder, self._texts.get(arm, ""))
        if index is None or not index.train_rows(self.context):
            raise SourceError(
                f"{shown(folder)}: the tokens that were drawn from are gone; a start makes them"
                " again where the text is as it was"
            )
        return folder, index


class Draw:
    """The rows of one step, as they were drawn."""

    def __init__(self, record: LossRecord, phase: _Phase, given: int) -> None:
        """`given`: rows that the arm had given before."""
        self.record = record
        self.settings = phase.settings
        self._context = phase.context
        self._folder, self._index = phase.source(record.arm)
        n_rows = self._index.train_rows(self._context)
        count = record.tokens // self._context
        self.numbers = next_rows(
            n_rows,
            seed=phase.settings.seed,
            arm=record.arm,
            rows_given=given,
            rows=count,
            by_number=RULES[phase.settings.rules].orders_by_number,
        )
        """Of the rows in the source, from 0: (rows,)."""
        self._seen = (given + np.arange(count)) // n_rows

    def tokens(self) -> NDArray[np.int64]:
        """(rows, context + 1) ids. Raises `OSError`."""
        array = train_tokens(self._folder, self._index)
        return take_rows(array, self.numbers, context=self._context)

    def batch(self, tokenizer: TextTokenizer, wanted: Sequence[int] = ()) -> Batch:
        """Its rows with their text; `wanted`: only those of these numbers, from 1.

        Raises `SettingsError` where there is no such row, or `OSError`.
        """
        record, count = self.record, len(self.numbers)
        if beyond := [place for place in wanted if not 1 <= place <= count]:
            raise SettingsError(f"row {beyond[0]:,}: the batch has rows 1 to {count:,}")
        tokens = self.tokens()
        rows = [
            BatchRow(
                row=place,
                source_row=int(self.numbers[place - 1]),
                seen=int(self._seen[place - 1]),
                documents=tuple(self._documents(place - 1, tokens[place - 1], tokenizer)),
                tokens=tuple(tokens[place - 1].tolist()),
            )
            for place in wanted or range(1, count + 1)
        ]
        return Batch(
            step=record.step or 0,
            phase=record.phase or 0,
            arm=record.arm,
            loss=record.loss,
            rows=tuple(rows),
        )

    def _documents(
        self, at: int, tokens: NDArray[np.int64], tokenizer: TextTokenizer
    ) -> Iterator[RowDocument]:
        try:
            origins = origin_of(
                self._folder,
                int(self.numbers[at]),
                context=self._context,
                text=self._index.fingerprint,
            )
        except SourceError:  # an earlier version kept none
            text = tokenizer.decode(tokens.tolist())
            yield RowDocument(file="", row=0, document=0, text=text)
            return
        for origin in origins:
            yield RowDocument(
                file=origin.file,
                row=origin.row,
                document=origin.document,
                text=tokenizer.decode(tokens[origin.begin : origin.end].tolist()),
            )

"""What a step of the past was fed: drawn anew from settings, history and tokens, as it was then."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.batches import next_rows, places_of, rows_given, take_rows
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
        self.steps, self.records = canonical_losses(loaded)
        """Of the history, ascending, and their records."""
        self._opened: dict[int, Phase] = {}
        self._draws: dict[str, tuple[list[LossRecord], NDArray[np.int64]]] = {}

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
        record = self.records[at]
        if record.lost or not record.arm or not record.tokens or record.phase is None:
            raise HistoryError(
                f"{shown(self.run.loss)}: the record of step {step:,} doesn't tell what it was fed"
            )
        phase = self.phase(record.phase)
        before = (r for r in self.records[:at] if r.arm == record.arm and not r.lost)
        given = rows_given(before, context=phase.context)[record.arm]
        return Draw(record, phase, given)

    @property
    def phases(self) -> list[int]:
        """The numbers of those that trained a step."""
        return sorted({r.phase for r in self.records if r.phase is not None and not r.lost})

    def draws_of(self, arm: str, context: int) -> tuple[list[LossRecord], NDArray[np.int64]]:
        """The records of an arm's steps, and the rows that it has given with each of them."""
        if arm not in self._draws:
            records = [r for r in self.records if r.arm == arm and not r.lost]
            rows = [r.tokens // context for r in records]
            self._draws[arm] = records, np.cumsum(rows, dtype=np.int64)
        return self._draws[arm]

    def phase(self, number: int) -> "Phase":
        """Of this number; raises `SettingsError` or `OSError`."""
        if number not in self._opened:
            self._opened[number] = Phase(self.run, number)
        return self._opened[number]


class Phase:
    """The settings of a phase, the tokens that it drew from, and in which order."""

    def __init__(self, run: RunDirectory, number: int) -> None:
        self.number = number
        self.settings = load_settings(run.settings_of_phase(number))
        self.context = self.settings.model.context
        self._tokens = run.tokens
        self._sources: dict[str, tuple[Path, TokenIndex]] = {}
        state = read_state(run.state_of_phase(number))
        self._texts = recorded_environment(run, state, number).texts
        self._by_number = RULES[self.settings.rules].orders_by_number

    def source(self, arm: str) -> tuple[Path, TokenIndex]:
        """Folder and index of its tokens; raises `SourceError`."""
        if arm not in self._sources:
            folder = token_folder(self._tokens, arm)
            index = read_index(folder, self._texts.get(arm, ""))
            if index is None or not index.train_rows(self.context):
                raise SourceError(
                    f"{shown(folder)}: the tokens that were drawn from are gone; a start makes them"
                    " again where the text is as it was"
                )
            self._sources[arm] = folder, index
        return self._sources[arm]

    def n_rows(self, arm: str) -> int:
        """Of the arm's tokens: a pass."""
        return self.source(arm)[1].train_rows(self.context)

    def rows(self, arm: str, given: int, count: int) -> NDArray[np.int64]:
        """The numbers of the rows that come after so many given ones: (count,)."""
        return next_rows(
            self.n_rows(arm),
            seed=self.settings.seed,
            arm=arm,
            rows_given=given,
            rows=count,
            by_number=self._by_number,
        )

    def given(self, arm: str, rows: NDArray[np.int64], begin: int, end: int) -> NDArray[np.int64]:
        """After how many given ones, in [begin, end), the rows come: ascending."""
        n_rows = self.n_rows(arm)
        passes = range(begin // n_rows, -(-end // n_rows))
        places = [
            number * n_rows
            + places_of(
                rows,
                n_rows,
                seed=self.settings.seed,
                arm=arm,
                pass_number=number,
                by_number=self._by_number,
            )
            for number in passes
        ]
        given = np.sort(np.concatenate([np.empty(0, np.int64), *places]))
        return given[(given >= begin) & (given < end)]


class Draw:
    """The rows of one step, as they were drawn."""

    def __init__(self, record: LossRecord, phase: Phase, given: int) -> None:
        """`given`: rows that the arm had given before."""
        self.record = record
        self.settings = phase.settings
        self._context = phase.context
        self._folder, self._index = phase.source(record.arm)
        count = record.tokens // self._context
        self.numbers = phase.rows(record.arm, given, count)
        """Of the rows in the source, from 0: (rows,)."""
        self._seen = (given + np.arange(count)) // phase.n_rows(record.arm)

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

"""The loss history as the trainer writes it: what a resume folds, replays and appends."""

import dataclasses
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from trainer.rundir.checkpoints.checkpoint import Checkpoint
from trainer.rundir.checkpoints.coverage import require_steps
from trainer.rundir.checkpoints.thinning import nonfinite_steps
from trainer.rundir.config.rules import RULES, Rules
from trainer.rundir.records.loss_record import LossRecord, canonical_losses, read_loss_records
from trainer.rundir.records.record_file import Mended, Record, RecordArray, load_records
from trainer.rundir.state import Replay

EMA_DECAY = 0.98
"""Of the loss EMA in the records: a window of about 50 steps."""


class LossHistory:
    """`.loss.json` opened for a run that goes on from `step`.

    Records after `step` are from steps that will be trained again: where a replayed step equals
    its record nothing is appended, and the replay counts as proven.
    """

    def __init__(
        self,
        path: Path,
        step: int,
        *,
        checkpoints: Sequence[Checkpoint] = (),
        rules: Rules = RULES[1],
    ) -> None:
        """Open the file and repair it.

        Raises `HistoryError`, before anything is changed, if it doesn't reach `step`; with the
        newest of the `checkpoints` (by ascending step) that it does cover.
        """
        loaded = load_records(path, read_loss_records)
        steps, records = canonical_losses(loaded.records)
        require_steps(path, steps, step, checkpoints)
        self._array = RecordArray(path, loaded)
        self.repair = self._array.repair
        self.attempt = 1 + max({record.attempt or 0 for record in loaded.records}, default=0)
        self.nonfinite_steps = nonfinite_steps(loaded.records)
        """Where earlier starts have stopped; all attempts."""
        self.phases = {record.phase for record in records}
        """Phases in which steps were trained, also such as will be trained again."""
        n_past = bisect_right(steps, step)
        self._past = records[:n_past]
        self._ahead = dict(zip(steps[n_past:], records[n_past:], strict=True))
        self.ema = self._past[-1].ema if self._past else None
        self._rules = rules
        self.step = step
        """The last step that the history knows, on file or waiting for room."""
        self.replay = Replay(first_step=step + 1, last_step=max(self._ahead, default=step))

    def past(self) -> Iterator[LossRecord]:
        """The canonical records up to the resumed step, once; they are not kept in memory."""
        past, self._past = self._past, []
        yield from past

    def next_ema(self, loss: float) -> float:
        """The EMA with the loss of the next step; a new run's begins at its first loss.

        Bias-corrected (Kingma and Ba 2015) where the rules say so: the mean of all losses, each
        step back counting for less by the decay, and none for what was before the first.
        """
        if self.ema is None:
            return loss
        if not self._rules.corrects_ema:
            return EMA_DECAY * self.ema + (1.0 - EMA_DECAY) * loss
        share = (1.0 - EMA_DECAY) / (1.0 - EMA_DECAY ** (self.step + 1))
        return self.ema + share * (loss - self.ema)

    def record(self, record: Record) -> bool | None:
        """Append a step's record, or prove the one on file by it.

        `None`: the step is new. `True`: it was replayed and equals its record. `False`: it was
        replayed and differs; the new record was appended. On `OSError` the record is kept and
        written with the next.
        """
        self.ema = record["ema"]
        self.step = record["step"]
        before = self._ahead.pop(record["step"], None)
        if before is None:
            self._array.append(record)
            return None
        is_proven = (
            _same(before.loss, record["loss"])
            and _same(before.grad_norm, record["grad_norm"])
            # an equal step of another phase is appended, too: its bandit is folded from it
            and before.phase == record.get("phase")
        )
        counted = "proven" if is_proven else "differing"
        self.replay = dataclasses.replace(
            self.replay, **{counted: getattr(self.replay, counted) + 1}
        )
        if is_proven:
            self._array.flush()  # looks after the file all the same
        else:
            self._array.append(record)
        return is_proven

    @property
    def n_pending(self) -> int:
        """Records that found no room on the disk yet."""
        return len(self._array.pending)

    @property
    def mended(self) -> Mended | None:
        """How the file was mended last, after somebody had removed or changed it."""
        return self._array.mended

    def flush(self) -> None:
        """Write the records that found no room before; raises `OSError`."""
        self._array.flush()

    def sync(self) -> None:
        """Make what is written durable, from any thread; raises `OSError`."""
        self._array.sync()

    def close(self) -> None:
        self._array.close()


def _same(written: float | None, value: float) -> bool:
    """Whether a value equals what is on file, where one that is not finite is null."""
    return written == (value if math.isfinite(value) else None)

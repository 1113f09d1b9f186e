"""The checkpoints on disk as rows, joined with their audits; looked at no more than needed."""

import os
import re
from collections.abc import Mapping

from console.view.run_view import Audit, CheckpointRow
from console.view.thinning_book import ThinningBook
from trainer.rundir.checkpoints.checkpoint import (
    Checkpoint,
    Inventory,
    Skipped,
    checkpoint_name,
    inspect_checkpoint,
)
from trainer.rundir.checkpoints.coverage import coverage_of, covered_by
from trainer.rundir.evaluations import Evaluation, read_evaluations
from trainer.rundir.layout import RunDirectory
from trainer.rundir.state import Save

_LOOKS_LIKE_ONE = re.compile(r"step_(\d{6,10})\.bin")


class CheckpointBook:
    """Keeps what was found: a look opens only files that are new, skipped, or the newest."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._n_params: int | None = None
        self._mtime_ns = -1
        self._taken: dict[str, Checkpoint] = {}
        """Whole files of the model's size, of whichever run they are."""
        self._listed = Inventory(checkpoints=(), skipped=())
        self._causes: dict[str, str] = {}
        self._evaluations: Mapping[int, Evaluation] = {}
        self._evaluated_at = -1
        """When an evaluation was kept last."""
        self.inventory = Inventory(checkpoints=(), skipped=())
        """As of the last look."""
        self.rows: tuple[CheckpointRow, ...] = ()
        """By ascending step; the same object until a checkpoint or its audit changes."""
        self.skipped: tuple[Skipped, ...] = ()
        self.total_bytes = 0

    def look(self, n_params: int | None) -> bool:
        """List the directory if it changed; whether the checkpoints did, or what covers them.

        `n_params` is the model's, `None` if the settings can't be read.
        """
        self._list(n_params)
        before, self.inventory = self.inventory, self._judge()
        return self._look_at_evaluations() or before != self.inventory

    def _look_at_evaluations(self) -> bool:
        """Read them where one was made; whether one was."""
        try:
            written_at = self._run.evaluations.stat().st_mtime_ns
        except OSError:
            written_at = -1
        is_changed = written_at != self._evaluated_at
        if is_changed:
            self._evaluations, self._evaluated_at = read_evaluations(self._run), written_at
        return is_changed

    def _list(self, n_params: int | None) -> None:
        if n_params != self._n_params:
            self._n_params, self._mtime_ns = n_params, -1
            self._taken.clear()
        try:
            mtime_ns = self._run.path.stat().st_mtime_ns
            names = _names(self._run) if mtime_ns != self._mtime_ns else None
        except OSError:
            mtime_ns, names = -1, set()
        if names is not None:
            self._mtime_ns = mtime_ns
            self._update(names)

    def _update(self, names: set[str]) -> None:
        self._taken = {name: found for name, found in self._taken.items() if name in names}
        skipped: list[Skipped] = []
        newest = max(names, key=_step_in, default="")
        for name in names:
            if name not in self._taken or name == newest:
                skipped += self._take(name)
        whole = tuple(sorted(self._taken.values(), key=lambda checkpoint: checkpoint.step))
        self._listed = Inventory(checkpoints=whole, skipped=tuple(skipped))

    def _take(self, name: str) -> tuple[Skipped, ...]:
        """Look at one; why it is skipped, if it is."""
        found = inspect_checkpoint(self._run.path / name, _step_in(name), self._n_params)
        self._taken.pop(name, None)
        if isinstance(found, Checkpoint):
            self._taken[name] = found
        return (found,) if isinstance(found, Skipped) else ()

    def _judge(self) -> Inventory:
        """Which of them the history covers: it goes on while the directory stays the same."""
        return covered_by(self._listed, coverage_of(self._run, self._n_params))

    def join(
        self,
        audits: Mapping[str, Audit],
        last_save: Save | None,
        thinning: ThinningBook | None = None,
    ) -> None:
        """Make the rows anew."""
        if last_save is not None and last_save.ok:
            self._causes[checkpoint_name(last_save.step)] = last_save.cause
        found = self.inventory.checkpoints
        thinning = thinning or ThinningBook(self._run)
        rows = tuple(self._row(checkpoint, audits, thinning) for checkpoint in found)
        self.rows = self.rows if rows == self.rows else rows  # why one is skipped may differ alone
        self.skipped = self.inventory.skipped
        self.total_bytes = sum(checkpoint.n_bytes for checkpoint in found)

    def _row(
        self, checkpoint: Checkpoint, audits: Mapping[str, Audit], thinning: ThinningBook
    ) -> CheckpointRow:
        name, step = checkpoint.path.name, checkpoint.step
        audit = audits.get(name)
        return CheckpointRow(
            step=step,
            name=name,
            n_bytes=checkpoint.n_bytes,
            modified=checkpoint.modified,
            cause=(audit.cause if audit else "") or self._causes.get(name, ""),
            audit=audit,
            evaluation=self._evaluation_of(step, audit),
            goes=step in thinning.going,
            stays=thinning.plan.kept.get(step, ""),
            note=thinning.pins.get(step),
        )

    def _evaluation_of(self, step: int, audit: Audit | None) -> Evaluation | None:
        """Of these very bytes, as far as an audit tells which they are."""
        found = self._evaluations.get(step)
        is_others = audit is not None and found is not None and audit.sha256 != found.sha256
        return None if is_others else found


def _names(run: RunDirectory) -> set[str]:
    with os.scandir(run.path) as entries:
        return {entry.name for entry in entries if _LOOKS_LIKE_ONE.fullmatch(entry.name)}


def _step_in(name: str) -> int:
    match = _LOOKS_LIKE_ONE.fullmatch(name)
    return int(match[1]) if match else -1

"""What thinning would do to each checkpoint, and which are pinned; planned anew when it changes."""

from collections.abc import Mapping, Sequence

from console.view.run_view import Audit
from trainer.rundir.checkpoints.checkpoint import Checkpoint, Inventory
from trainer.rundir.checkpoints.pins import read_pins
from trainer.rundir.checkpoints.protected import protected_steps
from trainer.rundir.checkpoints.retention import Plan
from trainer.rundir.checkpoints.thinning import plan_from
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.records.record_lines import Record

_AGAIN_SECONDS = 30.0
"""Forks and notes change without a sign in the run's directory."""
_NOTHING = Plan(kept={}, going=())


class ThinningBook:
    """Keeps the plan that the trainer would make by the run's own settings."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._made_from: tuple[object, ...] = ()
        self._made_at = 0.0
        self._audits: tuple[Audit, ...] = ()
        self._records: list[Record] = []
        self.plan = _NOTHING
        self.going: frozenset[int] = frozenset()
        """Steps of the checkpoints that would go."""
        self.pins: Mapping[int, str] = {}
        """Step → note."""
        self.problem = ""
        """Why nothing can be thinned."""

    def look(
        self,
        now: float,
        *,
        inventory: Inventory,
        audits: tuple[Audit, ...],
        nonfinite_steps: Sequence[int],
        settings: Settings | None,
    ) -> bool:
        """Plan anew if what decides it is another; whether anything came out otherwise."""
        made_from = (inventory, audits, nonfinite_steps, settings, self._pins_written())
        is_same = len(self._made_from) == len(made_from) and all(
            one is other or one == other
            for one, other in zip(made_from, self._made_from, strict=True)
        )
        if is_same and now - self._made_at < _AGAIN_SECONDS:
            return False
        self._made_from, self._made_at = made_from, now
        before = (self.plan, self.pins, self.problem)
        self._read_pins()
        self.plan = _NOTHING
        if settings is not None and not self.problem:
            self.plan = self._planned(inventory.checkpoints, audits, nonfinite_steps, settings)
        self.going = frozenset(checkpoint.step for checkpoint in self.plan.going)
        return before != (self.plan, self.pins, self.problem)

    def _planned(
        self,
        checkpoints: Sequence[Checkpoint],
        audits: tuple[Audit, ...],
        nonfinite_steps: Sequence[int],
        settings: Settings,
    ) -> Plan:
        if audits is not self._audits:
            self._audits = audits
            self._records = [
                {"step": audit.step, "score": audit.score, "val_loss": audit.val_loss}
                for audit in audits
            ]
        try:
            protected = protected_steps(self._run)
        except (OSError, HistoryError):
            return _NOTHING  # it was readable a moment ago: the next look tells
        return plan_from(checkpoints, self._records, nonfinite_steps, protected, settings)

    def _read_pins(self) -> None:
        try:
            self.pins, self.problem = read_pins(self._run), ""
        except HistoryError as error:
            self.pins, self.problem = {}, str(error)

    def _pins_written(self) -> int:
        """When a pin was made or taken away last."""
        try:
            return self._run.pins.stat().st_mtime_ns
        except OSError:
            return -1

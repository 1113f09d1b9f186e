"""The names in a run directory: the one place that knows where each file lies."""

import re
from dataclasses import dataclass
from pathlib import Path

_ARCHIVED_PHASE = re.compile(r"phase_(\d{3,9})")


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """Paths of one run; holds no state and touches no file until asked."""

    path: Path

    @property
    def name(self) -> str:
        """The run's name: its directory's, whatever way the path was spelled."""
        return self.path.resolve().name

    @property
    def settings(self) -> Path:
        return self.path / "run.toml"

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def tokens(self) -> Path:
        return self.path / "tokens"

    @property
    def loss(self) -> Path:
        return self.path / ".loss.json"

    @property
    def samples(self) -> Path:
        return self.path / ".samples.json"

    @property
    def state(self) -> Path:
        return self.path / ".state.json"

    @property
    def archive(self) -> Path:
        return self.path / "archive"

    @property
    def pivot(self) -> Path:
        return self.path / "pivot.json"

    @property
    def fork(self) -> Path:
        return self.path / "fork.json"

    @property
    def pins(self) -> Path:
        return self.path / "pins"

    @property
    def evaluations(self) -> Path:
        return self.path / "evaluations"

    @property
    def actions(self) -> Path:
        return self.path / "actions.jsonl"

    @property
    def log(self) -> Path:
        return self.path / "trainer.log"

    @property
    def lock(self) -> Path:
        return self.path / "trainer.lock"

    def phase_archive(self, phase: int) -> Path:
        """The folder of a phase that a pivot ended, or will end."""
        return self.archive / f"phase_{phase:03d}"

    def archived_phases(self) -> list[tuple[int, Path]]:
        """(phase number, folder) of each phase that a pivot ended, oldest first."""
        if not self.archive.is_dir():
            return []
        found = [
            (int(match[1]), folder)
            for folder in self.archive.iterdir()
            if (match := _ARCHIVED_PHASE.fullmatch(folder.name)) and folder.is_dir()
        ]
        return sorted(found)

    def current_phase(self) -> int:
        """1 for a new run; one more for each phase that was archived."""
        phases = self.archived_phases()
        return phases[-1][0] + 1 if phases else 1

    def settings_of_phase(self, phase: int) -> Path:
        """`run.toml` as it was in that phase."""
        return self._of_phase(phase) / self.settings.name

    def state_of_phase(self, phase: int) -> Path:
        """`.state.json` as that phase left it."""
        return self._of_phase(phase) / self.state.name

    def _of_phase(self, phase: int) -> Path:
        return dict(self.archived_phases()).get(phase, self.path)

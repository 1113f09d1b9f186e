"""What is on disk of a run's sources, each file read once: prepared tokens, settings by phase."""

from __future__ import annotations

from urllib.parse import unquote

from console.chart.series import SeriesView
from console.view.arm_counts import counted
from console.view.cached_file import CachedFile, read_settings
from console.view.run_view import Audit
from console.view.sources import SourceFacts, often_seen
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.sources.prepared import TokenIndex, read_index, token_folder
from trainer.rundir.state import State

_Key = tuple[object, ...]


class SourceBook:
    """Keeps what was read; a look without news costs a few stats."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._indexes: dict[str, CachedFile[TokenIndex | None]] = {}
        self._tokens_mtime_ns = self._archive_mtime_ns = -1
        self._archived: dict[int, Settings] = {}
        self._phase = 1
        """That `run.toml` is of."""
        self._key: _Key = ()
        self.facts = SourceFacts()
        """As of the last look."""
        self.warning = ""
        """Which sources are seen too often; foreign text."""

    def look(
        self,
        series: SeriesView,
        audits: tuple[Audit, ...],
        settings: Settings | None,
        state: State | None,
        *,
        is_foreign: bool,
    ) -> SourceFacts:
        """The same object unless something has changed."""
        sizes = self._look_at_tokens()
        self._look_at_archives()
        gone = _gone(state)
        key: _Key = (series, audits, settings, gone, is_foreign, tuple(sizes.items()))
        key = (*key, self._phase)
        if key != self._key:
            self._key = key
            context = None if settings is None or is_foreign else settings.model.context
            now = {} if settings is None else {self._phase: settings}
            self.facts = SourceFacts(
                counts=counted(series, context, self.facts.counts),
                settings=self._archived | now,
                sizes=sizes,
                audits=audits,
                gone=gone,
                has_own_bandit=not is_foreign,
            )
            self.warning = often_seen(self.facts)
        return self.facts

    def _look_at_tokens(self) -> dict[str, TokenIndex]:
        try:
            mtime_ns = self._run.tokens.stat().st_mtime_ns
            is_other = mtime_ns != self._tokens_mtime_ns
            names = sorted(path.name for path in self._run.tokens.iterdir()) if is_other else None
        except OSError:
            mtime_ns, names = -1, []
        if names is not None:
            self._tokens_mtime_ns = mtime_ns
            kept = self._indexes
            self._indexes = {n: kept.get(n) or self._index(n) for n in map(unquote, names)}
        found = {name: file.look() for name, file in self._indexes.items()}
        return {name: index for name, index in found.items() if index is not None}

    def _index(self, name: str) -> CachedFile[TokenIndex | None]:
        path = token_folder(self._run.tokens, name) / "index.json"
        return CachedFile(path, lambda path: read_index(path.parent))

    def _look_at_archives(self) -> None:
        try:
            mtime_ns = self._run.archive.stat().st_mtime_ns
        except OSError:
            mtime_ns = -1
        if mtime_ns == self._archive_mtime_ns:
            return
        self._archive_mtime_ns, self._archived, self._phase = mtime_ns, {}, 1
        for phase, folder in self._run.archived_phases():
            self._phase = phase + 1
            found, _ = read_settings(folder / self._run.settings.name)
            if found is not None:
                self._archived[phase] = found


def _gone(state: State | None) -> frozenset[str]:
    if state is None:
        return frozenset()
    unavailable = (name for name, arm in state.arms.items() if not arm.available)
    return frozenset({*unavailable, *(zombie.arm for zombie in state.zombies)})

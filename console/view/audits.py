"""All sample audits of a run, joined over its phases: archives and the current phase."""

from collections.abc import Iterable, Mapping
from typing import Any

from console.view.cached_file import read_news
from console.view.run_view import Audit, Sample
from trainer.rundir.checkpoints.checkpoint import checkpoint_name
from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_fields import fields_told, number, step_of, words
from trainer.rundir.records.record_file import RecordTail


def audit_of(record: Mapping[str, Any]) -> Audit | None:
    """The audit in a sample record; `None` if it doesn't even tell its step."""
    step = step_of(record)
    if step is None:
        return None
    milliseconds = number(record, "ms")
    derived = {
        "step": step,
        "checkpoint": words(record, "checkpoint") or checkpoint_name(step),
        "more": _further_samples(record),
        "val_losses": _losses(record, "val_losses"),
        "test_losses": _losses(record, "test_losses"),
        "seconds": None if milliseconds is None else milliseconds / 1000,
    }
    return Audit(**fields_told(Audit, record) | derived)


def _further_samples(record: Mapping[str, Any]) -> tuple[Sample, ...]:
    """Those of `samples` behind other prompts than the record's own; one a prompt."""
    told = record.get("samples")
    found = [each for each in told if isinstance(each, Mapping)] if isinstance(told, list) else []
    by_prompt: dict[str, Sample] = {}
    for each in found:
        by_prompt.setdefault(words(each, "prompt"), Sample(**fields_told(Sample, each)))
    by_prompt.pop(words(record, "prompt"), None)
    return tuple(by_prompt.values())


def _losses(record: Mapping[str, Any], key: str) -> tuple[tuple[str, float], ...]:
    told = record.get(key)
    if not isinstance(told, Mapping):
        return ()
    values = {name: number(told, name) for name in told if isinstance(name, str)}
    return tuple((name, value) for name, value in values.items() if value is not None)


class AuditBook:
    """Follows `.samples.json` and reads each archived one once."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._tail = RecordTail(run.samples)
        self._archive_mtime_ns = -1
        self._archived_phases: set[int] = set()
        self._archived: dict[str, Audit] = {}
        self._current: dict[str, Audit] = {}
        self.by_checkpoint: dict[str, Audit] = {}
        """Every audit by its checkpoint's file name; the last one of a checkpoint counts."""
        self.all: tuple[Audit, ...] = ()
        """By ascending step; the same object until an audit changes."""
        self.current_phase: tuple[Audit, ...] = ()
        """Those of `.samples.json`, by ascending step."""

    def look(self) -> bool:
        """Read what is new; whether anything was."""
        is_changed = self._look_at_archives()
        news = read_news(self._tail)
        if news.is_restarted:
            self._current.clear()
        while news.records:
            _add(self._current, news.records)
            is_changed = True
            if not news.has_more:
                break
            news = read_news(self._tail)
        is_changed = is_changed or news.is_restarted
        if is_changed:
            self._join()
        return is_changed

    def _look_at_archives(self) -> bool:
        try:
            mtime_ns = self._run.archive.stat().st_mtime_ns
            phases = [] if mtime_ns == self._archive_mtime_ns else self._run.archived_phases()
        except OSError:
            return False
        new = [(phase, folder) for phase, folder in phases if phase not in self._archived_phases]
        is_changed = False
        for phase, folder in new:
            tail = RecordTail(folder / self._run.samples.name)
            while (news := read_news(tail)).records:
                _add(self._archived, news.records)
                is_changed = True
            # A pivot makes the folder first and moves the file then: an empty one is read again.
            if tail.path.exists():
                self._archived_phases.add(phase)
        if all(phase in self._archived_phases for phase, _ in new):
            self._archive_mtime_ns = mtime_ns
        return is_changed

    def _join(self) -> None:
        self.by_checkpoint = self._archived | self._current
        self.all = _by_step(self.by_checkpoint)
        self.current_phase = _by_step(self._current)


def _add(audits: dict[str, Audit], records: Iterable[Mapping[str, Any]]) -> None:
    for record in records:
        if (audit := audit_of(record)) is not None:
            audits[audit.checkpoint] = audit


def _by_step(audits: Mapping[str, Audit]) -> tuple[Audit, ...]:
    return tuple(sorted(audits.values(), key=lambda audit: audit.step))

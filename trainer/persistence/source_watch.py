"""Looking, while it trains, whether the sources' files are still those that were prepared."""

import threading
from collections.abc import Mapping

from trainer.persistence.reporter import Reporter
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.sources.prepared import Drift, drift_of, read_index, token_folder
from trainer.rundir.sources.text_rules import text_rules

GOES_ON_PREPARED = (
    "training goes on with the tokens that were prepared; new text comes in by a pivot"
)


def text_alarm(name: str) -> str:
    """The topic of the alarm about a source's files."""
    return f"text of {name}"


class SourceWatch:
    """Looks by name and size, in a thread: a disk that doesn't answer holds up no step."""

    def __init__(
        self, run: RunDirectory, settings: Settings, drifts: Mapping[str, Drift], reporter: Reporter
    ) -> None:
        """`drifts`: how the files differed at the start; `reporter` has told it already."""
        self._run = run
        self._settings = settings
        self._reporter = reporter
        self._at_start = {name: drift.altered for name, drift in drifts.items()}
        self._found: dict[str, str] = {}
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Look, unless a look is under way."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, daemon=True)
            self._thread.start()

    def tell(self, *, wait: bool = False) -> None:
        """Tell what the last look has found, once it is done."""
        if self._thread is None or (self._thread.is_alive() and not wait):
            return
        self._thread.join()
        self._thread = None
        for name, found in self._found.items():
            altered = found or self._at_start[name]  # the start has read what a look can't tell
            if altered:
                self._reporter.alarm(text_alarm(name), f"{altered}; {GOES_ON_PREPARED}")
            else:
                self._reporter.over(text_alarm(name))

    def _look(self) -> None:
        for name in self._at_start:
            folder = token_folder(self._run.tokens, name)
            index = read_index(folder)
            if index is not None:
                drift = drift_of(
                    self._settings.sources[name],
                    self._run.path,
                    folder,
                    index,
                    rules=text_rules(self._settings),
                    reads=False,
                )
                self._found[name] = drift.altered

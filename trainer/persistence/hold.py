"""What a trainer works under: the directory that it opened, and the lock on it."""

from types import TracebackType
from typing import Self

from trainer.persistence.reporter import Reporter
from trainer.rundir.directory import HeldDirectory
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import RunError, SaveError

MOVED_ALARM = "run directory moved"
LOCK_ALARM = "lock lost"


class Hold:
    """Held from before the run is read until the trainer ends; looked at in each step."""

    def __init__(self, run: RunDirectory) -> None:
        """Open and lock. Raises `LockedError` where another trainer has it, or `OSError`."""
        # Closed with this object: an error's words are made readable as long as it is open.
        self._directory = HeldDirectory(run.path)
        self.run = self._directory.run
        """The run by paths that reach this very directory, whatever its name becomes."""
        self._lock = TrainerLock(self.run.lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """What fails in a deleted directory fails for that."""
        self._lock.release()
        if isinstance(error, RunError | OSError) and self._directory.is_deleted:
            raise self._deleted() from error

    def look(self, reporter: Reporter) -> None:
        """Tell what became of the names of directory and lock, and put the lock's back.

        Two system calls where nothing did. Raises `SaveError` for a directory that was deleted,
        `LockedError` where another trainer has taken the run.
        """
        self._look_at_directory(reporter)
        self._look_at_lock(reporter)

    def _look_at_directory(self, reporter: Reporter) -> None:
        opened_as = self._directory.opened_as
        if self._directory.is_at(opened_as):
            reporter.over(MOVED_ALARM)
            return
        if self._directory.is_deleted:
            raise self._deleted()
        now = self._directory.where() or "where this trainer can't see it"
        other = "; another directory is there now, and is left alone" if opened_as.exists() else ""
        reporter.alarm(
            MOVED_ALARM, f"{opened_as} is now {now}: training goes on, and saves there{other}"
        )

    def _deleted(self) -> SaveError:
        where = self._directory.opened_as
        return SaveError(f"{where}: was deleted while it was trained: nothing can be saved")

    def _look_at_lock(self, reporter: Reporter) -> None:
        name = self.run.lock.name
        try:
            lost = self._lock.keep()
        except OSError as error:
            reporter.alarm(LOCK_ALARM, f"{name} can't be put back: {error.strerror}")
            return
        if lost:
            reporter.alarm(LOCK_ALARM, f"{name} {lost}; a second trainer is refused all the same")

"""The driver of a pivot: walks its stages with the live trainer and tells each as a fact.

It keeps nothing that the journal doesn't hold: closed, killed or started anew at any moment, the
next walk goes on from the journal.
"""

import time
from collections.abc import Callable, Generator, Iterator

from console import formatting
from console.operations.operations import Operations, Outcome
from console.pivot.facts import (
    Progress,
    archived,
    committed,
    held,
    hold_ahead,
    hold_as_it_is,
    requested,
    restarted,
    waiting,
)
from console.pivot.plan import Plan, require_as_planned
from console.process.launch import exit_words
from console.process.presence import Presence, presence_of
from console.process.signals import Ask, NotSentError, send, takes
from trainer.rundir.actions import log_action
from trainer.rundir.checkpoints.checkpoint import Checkpoint, Inventory, checkpoint_name
from trainer.rundir.checkpoints.coverage import own_checkpoints, require_history
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.leftovers import remove_leftovers
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import Exit, LockedError, RunError, SourceError
from trainer.rundir.pivot.journal import (
    HoldMode,
    Pivot,
    Stage,
    how_to_go_on,
    next_boundary,
    read_pivot,
    request_pivot,
)
from trainer.rundir.pivot.stages import (
    archive,
    commit,
    finish,
    first_record,
    hold,
    restart,
    roll_back,
)
from trainer.rundir.records.newest_records import last_record
from trainer.rundir.start_checks import look_ahead
from trainer.rundir.state import read_state

POLL_SECONDS = 0.1


class PivotHaltedError(RunError):
    """The pivot can't go on by itself; the journal stays, and the message says what to do."""


class PivotDriver:
    """A pivot of one run, from one process. Each method may block; use a thread in a console."""

    def __init__(
        self,
        operations: Operations,
        *,
        sleep: Callable[[float], None] = time.sleep,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.run = operations.run
        self._operations = operations
        self._sleep = sleep
        self._wall = wall

    def request(self, plan: Plan) -> Progress:
        """Write the journal; the trainer is told by the walk. Raises `RunError` or `OSError`."""
        self._guard()
        base = self._base_as_it_is(plan.mode)
        self._refuse_at_the_end(plan.mode, base)
        require_as_planned(self.run, plan)
        self._require_next_start()
        pivot = request_pivot(
            self.run,
            plan.new_text,
            mode=plan.mode,
            note=plan.change.note,
            step=self._step(),
            t=self._wall(),
        )
        every = load_settings(self.run.settings).checkpoint.every
        ahead = hold_ahead(pivot.mode, pivot.requested_step, every)
        return self._told(requested(pivot, hold_as_it_is(base.step) if base else ahead))

    def walk(self) -> Generator[Progress, None, None]:
        """Go on from the journal's stage to the new phase's first step.

        Ends with the first loss of the new phase beside the last of the old. May be given up at
        any moment. Raises `PivotHaltedError`, another `RunError`, or `OSError`.
        """
        try:
            yield from self._walk()
        except (RunError, OSError) as error:
            self._logged("pivot", Outcome(ok=False, message=str(error)))
            raise

    def _walk(self) -> Iterator[Progress]:
        self._guard()
        pivot = self._pivot()
        if pivot.stage is Stage.REQUESTED:
            yield from self._wait_until_held(pivot)
            pivot = self._alone(Stage.REQUESTED, self._hold)
            yield self._told(held(pivot))
        if pivot.stage is Stage.HELD:
            pivot = self._alone(Stage.HELD, lambda p: archive(self.run, p, self._wall()))
            yield self._told(archived(pivot, self.run.phase_archive(pivot.phase).name))
        if pivot.stage is Stage.ARCHIVED:
            pivot = self._alone(Stage.ARCHIVED, lambda p: commit(self.run, p, self._wall()))
            yield self._told(committed())
        if pivot.stage is Stage.COMMITTED:
            pivot = self._alone(Stage.COMMITTED, lambda p: restart(self.run, p, self._wall()))
        yield from self._wait_for_first_step(pivot)

    def roll_back(self) -> Outcome:
        """Put back the old settings and sidecars, or only forget a request; never raises."""
        try:
            self._guard()
            pivot = self._pivot()
            presence = presence_of(self.run)
            if pivot.stage is Stage.REQUESTED and presence.is_held:
                # Only the journal is removed: a trainer that holds meanwhile changed no file.
                roll_back(self.run, pivot, self._wall())
            else:
                self._roll_back_alone()
        except (RunError, OSError) as error:
            return self._logged("pivot rolled back", Outcome(ok=False, message=str(error)))
        goes_on = "the trainer goes on" if presence_of(self.run).is_held else "no trainer runs"
        message = f"the pivot is taken back ({pivot.stage}): the old policy holds; {goes_on}"
        return self._logged("pivot rolled back", Outcome(ok=True, message=message))

    def _roll_back_alone(self) -> None:
        try:
            lock = TrainerLock(self.run.lock, pid=0)
        except LockedError:
            raise PivotHaltedError(
                f"{self.run.path}: a trainer runs; stop it first, then roll back"
            ) from None
        try:
            remove_leftovers(self.run)
            roll_back(self.run, self._pivot(), self._wall())
        finally:
            lock.release()

    def _alone(self, expected: Stage, act: Callable[[Pivot], Pivot]) -> Pivot:
        """Do a stage with the trainer's lock held, if the journal is still where it was seen."""
        try:
            lock = TrainerLock(self.run.lock, pid=0)
        except LockedError as error:
            raise PivotHaltedError(f"{error}; stop it, then {how_to_go_on(self.run)}") from None
        try:
            remove_leftovers(self.run)
            pivot = self._pivot()
            return act(pivot) if pivot.stage is expected else pivot
        finally:
            lock.release()

    def _base_as_it_is(self, mode: HoldMode) -> Checkpoint | None:
        """The checkpoint that a stopped run's pivot stands on without another step, if it does.

        Raises `HistoryError` where the trainer that is started then would refuse.
        """
        if self._lives(presence_of(self.run)):
            return None
        inventory = self._inventory()
        require_history(self.run, inventory)
        is_taken = _can_be_taken(mode, inventory.newest, self._step())
        return inventory.newest if is_taken else None

    def _refuse_at_the_end(self, mode: HoldMode, base: Checkpoint | None) -> None:
        """The run's last step is no boundary to hold at: the trainer ends there."""
        if mode is HoldMode.NOW or base is not None:
            return
        settings = load_settings(self.run.settings)
        boundary = next_boundary(self._step(), settings.checkpoint.every)
        if boundary >= settings.train.total_steps:
            raise PivotHaltedError(
                f"the next boundary, step {formatting.steps(boundary)}, is the end of the run;"
                " a pivot can only be held after the step under way (--now)"
            )

    def _require_next_start(self) -> None:
        """Raise what the start would refuse that a pivot ends in, but for what it may mend."""
        ahead = look_ahead(self.run, is_foreign=self._is_foreign(), reads_text=False)
        for refusal in ahead.refusals:
            if not isinstance(refusal, SourceError):
                raise refusal

    def _wait_until_held(self, pivot: Pivot) -> Iterator[Progress]:
        every, is_foreign = load_settings(self.run.settings).checkpoint.every, self._is_foreign()
        before = self._newest()
        if not self._lives(presence_of(self.run)):
            if _can_be_taken(pivot.mode, before, self._step()):
                return
            self._launch()
        target = next_boundary(pivot.requested_step, every)
        if pivot.mode is HoldMode.NOW:
            target = 0 if before is None else before.step + 1
        # One that knows no journal would write a checkpoint at once, which nobody needs.
        has_asked = is_foreign and pivot.mode is HoldMode.BOUNDARY
        has_stopped = False
        while self._lives(presence := presence_of(self.run)):
            has_asked = has_asked or self._ask(Ask.CHECKPOINT, presence)
            if is_foreign and not has_stopped and self._has_checkpoint(target):
                has_stopped = self._ask(Ask.STOP, presence)
            if self._pivot().stage is not Stage.REQUESTED:
                return
            yield waiting(pivot, self._step(), every)
            self._sleep(POLL_SECONDS)
        self._require_held(has_stopped or (is_foreign and self._has_checkpoint(target)))

    def _require_held(self, is_held: bool) -> None:
        """Raise unless the trainer ended because of the pivot."""
        state = read_state(self.run.state)
        if is_held or (state is not None and state.exit_code == Exit.HELD):
            return
        why = state.reason if state is not None and state.exit_code is not None else "killed?"
        raise PivotHaltedError(
            f"the trainer ended before the boundary ({why}); the pivot is still requested:"
            f" {how_to_go_on(self.run)}"
        )

    def _has_checkpoint(self, step: int) -> bool:
        newest = self._newest()
        return newest is not None and newest.step >= step

    def _step(self) -> int:
        """The step that the run is at, as far as its files tell."""
        newest = self._newest()
        recorded = (last_record(self.run.loss) or {}).get("step")
        steps = (newest.step if newest is not None else 0, recorded)
        return max(step for step in steps if isinstance(step, int))

    def _hold(self, pivot: Pivot) -> Pivot:
        inventory = self._inventory()
        require_history(self.run, inventory)
        return hold(self.run, pivot, self._boundary(inventory), self._wall())

    def _boundary(self, inventory: Inventory) -> Checkpoint:
        """Of the step at which the trainer held; of a run that was stopped, the newest."""
        state = read_state(self.run.state)
        boundary, what = inventory.newest, "a checkpoint to go on from"
        if state is not None and state.exit_code == Exit.HELD:
            boundary, what = inventory.at(state.step), f"{checkpoint_name(state.step)}, as held,"
        if boundary is None:
            hint = how_to_go_on(self.run)
            raise PivotHaltedError(f"{self.run.path}: {what} is not there; {hint}")
        return boundary

    def _wait_for_first_step(self, pivot: Pivot) -> Iterator[Progress]:
        if first_record(self.run, pivot) is None and not self._lives(presence_of(self.run)):
            self._launch()
        while (first := first_record(self.run, pivot)) is None:
            if not self._lives(presence_of(self.run)):
                raise PivotHaltedError(
                    f"the trainer ended before its first step of the new phase"
                    f" ({self._end()}); mend it and {how_to_go_on(self.run)}"
                )
            state = read_state(self.run.state)
            detail = f"{state.doing}: {state.detail}" if state is not None else "starting"
            yield Progress(stage=Stage.RESTARTED, is_done=False, message=detail.removesuffix(": "))
            self._sleep(POLL_SECONDS)
        if self.run.pivot.exists():  # another console may have been quicker
            pivot = finish(self.run, pivot, first, self._wall())
        yield self._told(restarted(pivot, first))

    def _launch(self) -> None:
        outcome = self._operations.launch()
        if not outcome.ok and not presence_of(self.run).is_held:
            raise PivotHaltedError(f"{outcome.message}; mend it and {how_to_go_on(self.run)}")

    def _lives(self, presence: Presence) -> bool:
        """Whether a trainer runs, or one that this process started is about to."""
        self._require_here()
        launched = self._operations.launched
        return presence.is_held or (launched is not None and launched.exit_code() is None)

    def _ask(self, ask: Ask, presence: Presence) -> bool:
        """Whether the signal was sent; a trainer that is still starting is asked later."""
        holder = presence.holder
        if holder is None or not holder.pid or not takes(holder.pid, ask):
            return False
        try:
            send(self.run, ask)
        except NotSentError:
            return False
        return True

    def _end(self) -> str:
        state = read_state(self.run.state)
        if state is not None and state.exit_code is not None:
            return state.reason
        launched = self._operations.launched
        code = launched.exit_code() if launched is not None else None
        return "killed?" if code is None else exit_words(code)

    def _pivot(self) -> Pivot:
        self._require_here()
        pivot = read_pivot(self.run.pivot)
        if pivot is None:
            raise PivotHaltedError(f"{self.run.path}: no pivot is under way")
        return pivot

    def _is_foreign(self) -> bool:
        return bool(self._operations.command or load_settings(self.run.settings).trainer.command)

    def _newest(self) -> Checkpoint | None:
        return self._inventory().newest

    def _inventory(self) -> Inventory:
        settings = load_settings(self.run.settings)
        n_params = None if self._is_foreign() else settings.model.n_params
        return own_checkpoints(self.run, n_params)

    def _guard(self) -> None:
        if self._operations.read_only:
            raise PivotHaltedError("pivot: this console is read-only")
        self._require_here()

    def _require_here(self) -> None:
        if lost := self._operations.lost:
            raise PivotHaltedError(f"pivot: {lost}")

    def _told(self, progress: Progress) -> Progress:
        self._logged("pivot", Outcome(ok=True, message=progress.message))
        return progress

    def _logged(self, action: str, outcome: Outcome) -> Outcome:
        if self._operations.lost:
            return outcome
        try:
            log_action(self.run.actions, action, outcome.message, ok=outcome.ok)
        except OSError as error:
            message = f"{outcome.message} (not noted in {self.run.actions.name}: {error.strerror})"
            return Outcome(ok=outcome.ok, message=message)
        return outcome


def _can_be_taken(mode: HoldMode, newest: Checkpoint | None, step: int) -> bool:
    """Whether a stopped run's newest checkpoint is its boundary as it is.

    Where the history goes on after it (a crash), a trainer first has to train up to a boundary,
    so that no step is trained twice; unless the operator wants it now, for that may be what fails.
    """
    if newest is None:
        return False
    return mode is HoldMode.NOW or newest.step >= step

"""What an operator can do to a run: one guard, one log of actions, an outcome in words.

The keys and the verbs of the command line call the same methods. None raises for what an
operator can meet; each may block for some milliseconds (files, signals), never for the trainer.
"""

import os
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from console import formatting
from console.operations.checkpoint_requests import REQUESTED, Asked, RequestTracker
from console.operations.restarts import has_crashed
from console.process.launch import LaunchedTrainer, launch_trainer
from console.process.presence import Presence, place_of, presence_of
from console.process.signals import Ask, NotSentError, send
from console.view.cached_file import read_settings
from trainer.rundir.actions import log_action
from trainer.rundir.checkpoints.checkpoint import INT32_MAX, Inventory, checkpoint_name
from trainer.rundir.checkpoints.coverage import own_checkpoints
from trainer.rundir.checkpoints.pins import note_line, pin, read_pins, unpin
from trainer.rundir.checkpoints.retention import Plan
from trainer.rundir.checkpoints.thinning import nonfinite_steps_of, plan_of, still_going, thin
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.config.settings import CheckpointSettings, Settings
from trainer.rundir.directory import HeldDirectory
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import Holder
from trainer.rundir.names import quoted
from trainer.rundir.outcomes import RunError
from trainer.rundir.pivot.journal import refuse_if_half_done
from trainer.rundir.state import ENDED, State, read_state

_ALL_MAY_GO = CheckpointSettings(keep_last=1, keep_every=INT32_MAX)
"""But for the newest, and what something stands on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an operation went, in one line for a person."""

    ok: bool
    message: str


class RefusedError(Exception):
    """The guard's no, and why."""


class Operations:
    """The operations on one run, and what this process remembers of them."""

    def __init__(
        self, run: RunDirectory, *, read_only: bool = False, command: Sequence[str] = ()
    ) -> None:
        """`command` trains in place of what `run.toml` names."""
        self.run = run
        self.read_only = read_only
        self.command = tuple(command)
        self.requests = RequestTracker()
        self.launched: LaunchedTrainer | None = None
        """The trainer that this process started last."""
        self._directory = _held(run)
        self._stopped: Holder | None = None
        self._one_at_a_time = threading.Lock()

    @property
    def is_moved(self) -> bool:
        """The run's name does not lead to the directory that was opened."""
        return self._directory is not None and not self._directory.is_at(self.run.path)

    @property
    def lost(self) -> str:
        """Why the run can't be reached by its name: where the directory that was opened is now, or
        that this user has no right to look into it; empty while it can. Nothing is done meanwhile.
        """
        if self._directory is None or not self.is_moved:
            return _why_shut(self.run)
        is_there = os.path.lexists(self.run.path)
        what = "another directory is under its name" if is_there else "its directory is gone"
        if (now := self._directory.where()) is not None:
            how = f"andrea-console {quoted(now)}"
            return f"{what}: it is {now} now, and a trainer may live there: {how} shows it"
        if self._directory.is_deleted:
            return f"{what}: the one that was watched is deleted; to watch another, open it anew"
        return f"{what}: where it is now can't be seen from here, and a trainer may live there"

    def adopt_or_launch(self) -> Outcome:
        """Take the live trainer as it is; else start one."""
        presence = presence_of(self.run)
        if presence.is_held:
            return Outcome(ok=True, message=f"watching {_named(presence)}")
        return self.launch()

    def launch(self) -> Outcome:
        """Start a trainer; refused where one lives, a pivot is half done, or no step is left."""
        return self._guarded("launch", self._launch)

    def restart(self) -> Outcome:
        """The same after a crash, by nobody's key: the log of actions tells them apart."""
        return self._guarded("restart", self._launch)

    def checkpoint(self) -> Outcome:
        """Ask for a checkpoint after the step under way; once, until that one is answered."""
        return self._guarded("checkpoint", self._checkpoint)

    def stop(self) -> Outcome:
        """Ask the trainer to finish its step, write a checkpoint and end; once a trainer."""
        return self._guarded("stop", self._stop)

    def look_for_crash(self) -> tuple[bool, int]:
        """Whether the last trainer has crashed, and the newest checkpoint's step (-1: none)."""
        if self.lost:
            return False, -1
        child = self.launched
        child_exit = child.exit_code() if child is not None else None
        is_live = child is not None and child_exit is None
        is_held = is_live or presence_of(self.run).is_held
        state = read_state(self.run.state)
        pid = child.pid if child is not None else state.pid if state is not None else 0
        if self._stopped is not None and self._stopped.pid == pid:
            return False, -1  # it was asked to end, however it then did
        if state is not None and state.pid == pid and state.doing in ENDED:
            child_exit = None  # the trainer's own word says more
        if not has_crashed(state, is_held=is_held, child_exit=child_exit):
            return False, -1
        newest = self._inventory().newest
        return True, newest.step if newest else -1

    def preview_thinning(self, steps: Collection[int] = ()) -> Plan | Outcome:
        """What thinning by the run's own settings would delete, or why there is nothing to ask.

        With `steps` all of these go, but for those that something stands on, and the newest.
        """
        if lost := self.lost:
            return Outcome(ok=False, message=f"thin: {lost}")
        try:
            settings = load_settings(self.run.settings)
            keep = _ALL_MAY_GO if steps else settings.checkpoint
            if not keep.keep_last:
                raise RefusedError(
                    "checkpoint.keep_last is 0, so all are kept; with another number:"
                    f" andrea-console thin {quoted(self.run.path)} --keep-last N"
                )
            plan = plan_of(self.run, settings, nonfinite_steps_of(self.run.loss), keep=keep)
        except (RefusedError, RunError, OSError) as problem:
            return Outcome(ok=False, message=f"thin: {problem}")
        plan = _only(plan, steps) if steps else plan
        if not plan.going:
            reasons = "; ".join(sorted(set(plan.kept.values()))) if steps else ""
            message = f"thin: nothing to delete; all {len(plan.kept)} checkpoints have to stay"
            return Outcome(ok=True, message=f"{message}: {reasons}" if reasons else message)
        return plan

    def thin(self, plan: Plan) -> Outcome:
        """Delete the checkpoints that the plan lets go, but for those that are a base by now."""
        return self._guarded("thin", lambda: self._thin(plan))

    def pin(self, steps: Sequence[int], note: str | None = None) -> Outcome:
        """Keep these checkpoints whatever thins; `note`: in place of those that they may have."""
        return self._guarded("pin", lambda: self._pin(steps, note))

    def unpin(self, steps: Sequence[int]) -> Outcome:
        """Let thinning take these checkpoints again; their notes are gone."""
        return self._guarded("unpin", lambda: self._unpin(steps))

    def _guarded(self, action: str, operate: Callable[[], "Done"]) -> Outcome:
        with self._one_at_a_time:
            if self.read_only:
                return Outcome(ok=False, message=f"{action}: this console is read-only")
            if lost := self.lost:
                return Outcome(ok=False, message=f"{action}: {lost}")
            try:
                done = operate()
            except (RefusedError, RunError) as refusal:
                return self._logged(action, Outcome(ok=False, message=f"{action}: {refusal}"))
            except OSError as error:
                return self._logged(action, Outcome(ok=False, message=f"{action}: {error}"))
            return self._logged(action, Outcome(ok=True, message=done.message), **done.facts)

    def _logged(self, action: str, outcome: Outcome, **facts: object) -> Outcome:
        try:
            log_action(self.run.actions, action, outcome.message, ok=outcome.ok, **facts)
        except OSError as error:
            message = f"{outcome.message} (not noted in {self.run.actions.name}: {error.strerror})"
            return Outcome(ok=outcome.ok, message=message)
        return outcome

    def _launch(self) -> "Done":
        presence = presence_of(self.run)
        if presence.is_held:
            raise RefusedError(f"{_named(presence)} holds this run")
        if self.launched is not None and self.launched.exit_code() is None:
            raise RefusedError(f"the trainer (pid {self.launched.pid}) is starting already")
        settings, mistake = read_settings(self.run.settings)
        if settings is None:
            raise RefusedError(mistake)
        refuse_if_half_done(self.run)
        command = self.command or settings.trainer.command
        self._refuse_if_finished(settings)
        self.launched = launch_trainer(self.run, command)
        self._stopped = None
        return Done(f"trainer started (pid {self.launched.pid})", self.launched.pid)

    def _inventory(self) -> Inventory:
        settings, _ = read_settings(self.run.settings)
        is_foreign = settings is None or self.command or settings.trainer.command
        n_params = None if settings is None or is_foreign else settings.model.n_params
        return own_checkpoints(self.run, n_params)

    def _refuse_if_finished(self, settings: Settings) -> None:
        newest = self._inventory().newest
        if newest is not None and newest.step >= settings.train.total_steps:
            raise RefusedError(f"all {formatting.steps(settings.train.total_steps)} steps are done")

    def _checkpoint(self) -> "Done":
        holder = presence_of(self.run).holder
        if self.requests.is_open and holder is not None and self.requests.asked_pid == holder.pid:
            return Done(
                "a checkpoint is requested already; presses until it is written are one", holder.pid
            )
        state = read_state(self.run.state)
        _refuse_while_deaf(state, holder)
        self.requests.ask(self._asked(holder.pid if holder else 0, state))
        try:
            sent_to = send(self.run, Ask.CHECKPOINT)
        except NotSentError:
            self.requests.withdraw()
            raise
        return Done(REQUESTED.message, sent_to.pid)

    def _asked(self, pid: int, state: State | None) -> Asked:
        newest = self._inventory().newest
        save = state.last_save if state is not None and state.pid == pid else None
        return Asked(
            pid=pid,
            answered=save.requests if save is not None else 0,
            newest_step=newest.step if newest else -1,
        )

    def _stop(self) -> "Done":
        holder = presence_of(self.run).holder
        if holder is not None and holder == self._stopped:
            return Done("the trainer is asked to stop already; it saves first", holder.pid)
        _refuse_while_deaf(read_state(self.run.state), holder)
        # A second SIGTERM would skip the audit: a second press never sends one.
        self._stopped = send(self.run, Ask.STOP)
        message = "stop requested: the trainer finishes its step, writes a checkpoint and ends"
        return Done(message, self._stopped.pid)

    def _thin(self, plan: Plan) -> "Done":
        # the preview may be hours old
        plan = replace(plan, going=still_going(self.run, plan, self._inventory()))
        plan = thin(self.run, plan)
        freed = formatting.size(plan.freed_bytes)
        files = tuple(checkpoint.path.name for checkpoint in plan.going)
        return Done(
            f"{formatting.count(len(files), 'checkpoint')} deleted, {freed} freed", files=files
        )

    def _pin(self, steps: Sequence[int], note: str | None) -> "Done":
        inventory = self._inventory()
        for step in steps:
            if inventory.at(step) is None:
                there = (checkpoint.step for checkpoint in inventory.checkpoints)
                nearest = min(there, key=lambda other: abs(other - step), default=None)
                hint = "" if nearest is None else f"; the nearest is {nearest}"
                raise RefusedError(f"there is no checkpoint of step {step}{hint}")
        known = read_pins(self.run)
        for step in steps:
            pin(self.run, step, known.get(step, "") if note is None else note)
            if not (self.run.path / checkpoint_name(step)).exists():
                unpin(self.run, step)
                raise RefusedError(f"the checkpoint of step {step} was thinned a moment ago")
        words = f": {note_line(note)}" if note else ""
        return Done(f"{_listed(steps)} pinned{words}", files=_files(steps))

    def _unpin(self, steps: Sequence[int]) -> "Done":
        known = read_pins(self.run)
        if not (pinned := [step for step in steps if step in known]):
            raise RefusedError(f"{_listed(steps)}: not pinned")
        for step in pinned:
            unpin(self.run, step)
        notes = "; ".join(known[step] for step in pinned if known[step])
        words = f" (its note was: {notes})" if notes else ""
        return Done(f"{_listed(pinned)} unpinned{words}", files=_files(pinned))


@dataclass(frozen=True, slots=True)
class Done:
    """What was done, and to which process or files."""

    message: str
    pid: int = 0
    files: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, object]:
        """What the log of actions says besides."""
        return {"pid": self.pid} | ({"files": self.files} if self.files else {})


def _only(plan: Plan, steps: Collection[int]) -> Plan:
    """What it says of these."""
    going = tuple(checkpoint for checkpoint in plan.going if checkpoint.step in steps)
    return replace(plan, going=going, kept={s: why for s, why in plan.kept.items() if s in steps})


def _listed(steps: Sequence[int]) -> str:
    if len(steps) == 1:
        return f"step {formatting.steps(steps[0])}"
    return formatting.count(len(steps), "checkpoint")


def _files(steps: Sequence[int]) -> tuple[str, ...]:
    return tuple(checkpoint_name(step) for step in steps)


def _held(run: RunDirectory) -> HeldDirectory | None:
    try:
        return HeldDirectory(run.path)
    except OSError:
        return None


def _why_shut(run: RunDirectory) -> str:
    """Without the right to search it nothing in it can be known, a live trainer least of all;
    without that to its archive, not the phase.
    """
    for folder in (run.path, run.archive):
        if os.path.lexists(folder) and not os.access(folder, os.R_OK | os.X_OK):
            what = "archive" if folder == run.archive else "directory"
            return (
                f"there is no right to look into its {what}, and a trainer may live there:"
                f" chmod u+rx {quoted(folder)} as its owner"
            )
    return ""


def _named(presence: Presence) -> str:
    holder = presence.holder
    if holder is None or not holder.pid:
        return "a trainer"
    where = "" if holder.is_here else f" {place_of(holder)}"
    return f"the trainer (pid {holder.pid}{where})"


def _refuse_while_deaf(state: State | None, holder: Holder | None) -> None:
    """A trainer that says itself that it takes no signals yet is believed."""
    if state is None or holder is None or state.pid != holder.pid:
        return
    if state.doing == "starting" and not state.takes_signals:
        raise RefusedError("the trainer is starting and takes no signals yet; try again")

"""Following a run: look, read what is new, reduce it to one frozen RunView."""

import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace

from console import formatting
from console.chart.series import Series
from console.follow.idle_watch import IdleWatch
from console.follow.machine_watch import MachineWatch, Tenant, measure
from console.follow.read_ahead import ReadAhead
from console.follow.watch import wakes
from console.operations.checkpoint_requests import Seen
from console.operations.operations import Operations
from console.operations.restarts import Restarter
from console.process.allocator import give_back_freed
from console.process.presence import Liveness, Presence, presence_of
from console.process.signals import Ask, takes
from console.view.audits import AuditBook
from console.view.build_view import Facts, evidence_of, reduce, step_of_run
from console.view.cached_file import CachedFile, read_news, read_settings
from console.view.checkpoint_rows import CheckpointBook
from console.view.disk_forecast import Room
from console.view.events import EventBook, last_end
from console.view.fork_marks import ForkBook
from console.view.health_book import HealthBook
from console.view.log_tail import LogTail
from console.view.loss_history import History
from console.view.machine import Machine
from console.view.next_start import NextStartBook
from console.view.pace import UNKNOWN_PACE, newest_time, pace_of
from console.view.pivots import PivotBook
from console.view.run_view import MOVED, UNREADABLE, Event, Mark, RunView, Severity, Status
from console.view.sample_marks import SampleMarks
from console.view.source_book import SourceBook
from console.view.sources import SourceFacts
from console.view.thinning_book import ThinningBook
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import process_start_time
from trainer.rundir.memory import kills_since
from trainer.rundir.records.loss_record import read_loss_records
from trainer.rundir.records.record_file import RecordTail
from trainer.rundir.state import ENDED, Save, State, read_state

_LOOK_SECONDS = 0.1
"""A look at a long history ends after this, with a view of what was read so far."""
_SHORT_RECORDS = 20_000
"""A history of this length is judged within 20 ms: before it is shown. A longer one after that."""
_LIST_SECONDS = 1.0
"""How often the directory is listed for checkpoints if nothing says that there is a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Where time comes from; a test brings its own."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time


class Follower:
    """Keeps what was read of a run; each look costs what is new. One caller at a time."""

    def __init__(
        self, run: RunDirectory, operations: Operations | None = None, *, clock: Clock = Clock()
    ) -> None:
        """`operations` remember what this console asked for and started; nothing is read yet."""
        self.run = run
        self._operations = operations or Operations(run, read_only=True)
        self.opening_note = ""
        """Why no trainer was started when the console was; empty where there is nothing to say."""
        self.watching_note = ""
        """Why changes of the run can't be noticed at once; empty where they can."""
        self._clock = clock
        self._settings = CachedFile(run.settings, read_settings)
        self._state = CachedFile(run.state, read_state)
        self.read_ahead: ReadAhead | None = None
        """A child that reads the history so far, if one was started."""
        self.restarter: Restarter | None = None
        """Starts a crashed trainer again, and knows when; None where nothing does."""
        self._tail = RecordTail(run.loss, read_loss_records)
        self._history = History()
        self._history_version = 0
        self._damaged_lines = 0
        self._is_complete = False
        """Whether the last look reached the history's end."""
        self._is_look_due = True
        self._is_history_shown = False
        """Whether a view was made of the whole of it."""
        self._is_settled = False
        """Whether a look has known all."""
        self._pace = UNKNOWN_PACE
        self._audits = AuditBook(run)
        self._checkpoints = CheckpointBook(run)
        self._listed_at = -_LIST_SECONDS
        self._joined_save: Save | None = None
        self._is_joined = False
        """Whether the rows of the checkpoints are of what was read last."""
        self._thinning = ThinningBook(run)
        self._log = LogTail(run.log)
        self._pivots = PivotBook(run)
        self._forks = ForkBook(run)
        self._samples = SampleMarks()
        self._events = EventBook(run)
        self._health = HealthBook()
        self._next_start = NextStartBook(run)
        self._sources = SourceBook(run)
        self._idle = IdleWatch()
        self._machine = MachineWatch()
        self._tenant = Tenant()
        self._last: RunView | None = None
        self.doubt_seconds = 0.0
        """How long to look on until a stall is known and no guess by a clock that may be another's
        or was set; 0 where the last look knows.
        """

    @property
    def series(self) -> Series:
        """The loss history that the last look ended with."""
        return self._history.series

    @property
    def sources(self) -> SourceFacts:
        """What the last look knew of the sources."""
        return self._sources.facts

    @property
    def is_complete(self) -> bool:
        """Whether the last look knew all, or failed: no reason for one at once."""
        return not self._is_look_due

    def look(self) -> RunView:
        """The run as it is now; equal to the last view if nothing changed.

        A long history is read in parts: look again at once while it is not complete.
        """
        # A look that fails is not tried again at once.
        self._is_complete, self._is_look_due = True, False
        if lost := self._operations.lost:
            return self._lost_view(lost)
        # The lock before the state: a trainer that ends in between has told its end by then.
        presence = presence_of(self.run)
        settings, _ = self._settings.look()
        state = self._state.look()
        self._log.look()
        self._list_checkpoints(settings, state)
        self._pivots.look()
        self._read_history()  # after the checkpoints: a child may be at it still
        self._plan_thinning(settings)
        self._join_checkpoints(state)
        self._look_ahead()
        self._look_at_sources(settings, state)
        facts = self._with_idle_time(self._facts(presence, settings, state))
        notes = (self.opening_note, self.watching_note, self._pivots.warning)
        view = reduce(replace(facts, notes=self._notes(*notes, *self._next_start.notes)))
        self._last = replace(view, request=self._operations.requests.look(_seen(view, state)))
        current = state if state is not None and facts.is_state_current else State()
        memory = current.memory
        peak = memory.peak_bytes or None if memory is not None else None
        self._tenant = Tenant(
            presence=presence, told_peak_bytes=peak, room=view.room, ranks=current.ranks
        )
        self._is_look_due = not (self._is_complete and view.is_judged) or self._events.has_more
        if not (self._is_look_due or self._is_settled):
            self._is_settled = True
            give_back_freed()  # of reading 2,000 audits and a long history: 6 MB of 100
        return self._last

    def look_at_machine(self) -> Machine:
        """The machine that the run is on, as it was two seconds ago at most; of a run that is
        trained on another machine, only the disk; nothing while a long history is read.
        """
        if not self._is_complete:
            return Machine()  # the library for GPUs takes 60 ms to load, and holds the interpreter
        return self._machine.look(self._clock.monotonic(), self._tenant)

    def measure_machine(self) -> Machine:
        """The same as one exact sample, of the last look's trainer; takes 0.2 s."""
        return measure(self._tenant)

    def _lost_view(self, lost: str) -> RunView:
        """What was known last of the directory; what is under its name now is not read."""
        word = MOVED if self._operations.is_moved else UNREADABLE
        status = Status(word=word, detail=lost, severity=Severity.BAD)
        last = self._last or RunView(
            name=self.run.name, path=self.run.path, status=status, is_running=False
        )
        return replace(
            last,
            status=status,
            is_running=False,
            pid=None,
            takes_signals=False,
            steps_per_minute=None,
            eta_seconds=None,
            room=Room(),
            full_in_seconds=None,
            alarms=(),
            judged_alarms={},
            notes=(),
        )

    def _read_history(self) -> None:
        deadline = self._clock.monotonic() + _LOOK_SECONDS
        is_changed = False
        if self.read_ahead is not None:
            is_changed = self._take_read_ahead(self.read_ahead)
            if not is_changed:
                self._is_complete = False
                return
        while True:
            news = read_news(self._tail)
            if news.is_restarted:
                self._history, self._damaged_lines = History(), 0
            self._history.add(news.records)
            self._damaged_lines += news.damaged_lines
            is_changed |= bool(news.records) or news.is_restarted
            if not news.has_more or self._clock.monotonic() >= deadline:
                break
        self._is_complete = not news.has_more
        if is_changed:
            self._history_version += 1
            self._pace = pace_of(self._history.recent)

    def _take_read_ahead(self, child: ReadAhead) -> bool:
        """Whether it is there; a child that died leaves the reading to this process."""
        try:
            read = child.take(_LOOK_SECONDS)
        except EOFError:
            self.read_ahead = None
            return True
        if read is None:
            return False
        self.read_ahead = None
        self._tail, self._history = read.tail, read.history
        self._damaged_lines = read.damaged_lines
        return True

    def _list_checkpoints(self, settings: Settings | None, state: State | None) -> None:
        has_new_audits = self._audits.look()
        save = state.last_save if state is not None else None
        has_saved, self._joined_save = save != self._joined_save, save
        is_hinted = has_new_audits or has_saved or self._operations.requests.is_open
        now = self._clock.monotonic()
        is_changed = False
        if is_hinted or now - self._listed_at >= _LIST_SECONDS:
            is_foreign = settings is None or self._operations.command or settings.trainer.command
            n_params = None if settings is None or is_foreign else settings.model.n_params
            is_changed, self._listed_at = self._checkpoints.look(n_params), now
        self._is_joined &= not (is_changed or has_new_audits or has_saved)

    def _plan_thinning(self, settings: Settings | None) -> None:
        if not self._is_complete:
            return  # which steps weren't finite is not known yet
        is_changed = self._thinning.look(
            self._clock.monotonic(),
            inventory=self._checkpoints.inventory,
            audits=self._audits.all,
            nonfinite_steps=self._history.nonfinite_steps,
            settings=settings,
        )
        self._is_joined &= not is_changed

    def _join_checkpoints(self, state: State | None) -> None:
        if not self._is_joined:
            save = state.last_save if state is not None else None
            self._checkpoints.join(self._audits.by_checkpoint, save, self._thinning)
            self._is_joined = True

    def _look_ahead(self) -> None:
        if not self._may_judge:
            return
        self._next_start.look(
            self._clock.monotonic(),
            inventory=self._checkpoints.inventory,
            steps=self.series.view().step,
            is_foreign=bool(self._operations.command),
        )

    @property
    def _may_judge(self) -> bool:
        """Of a long history from the second look on, once it is shown."""
        is_short = len(self._history.series) <= _SHORT_RECORDS
        return self._is_complete and (self._is_history_shown or is_short)

    def _look_at_sources(self, settings: Settings | None, state: State | None) -> None:
        if not self._is_complete:
            return
        is_foreign = bool(self._operations.command or (settings and settings.trainer.command))
        series, audits = self.series.view(), self._audits.all
        self._sources.look(series, audits, settings, state, is_foreign=is_foreign)

    def _facts(self, presence: Presence, settings: Settings | None, state: State | None) -> Facts:
        history = self._history
        launched = self._operations.launched
        child_exit = launched.exit_code() if launched is not None else None
        is_current = is_state_current(state, presence, launched.pid if launched else None)
        free_bytes, free_inodes = _free(self.run)
        marks = self._forks.join(self._pivots.label(history.marks))
        marks = self._samples.join(marks, self._audits.all)
        self._look_at_whole(marks, settings, last_end(state, is_running=presence.is_running))
        facts = Facts(
            run=self.run,
            presence=presence,
            state=state,
            is_state_current=is_current,
            takes_signals=_takes_signals(presence, state if is_current else None),
            is_child_alive=launched is not None and child_exit is None,
            child_exit=child_exit,
            settings=settings,
            is_complete=self._is_complete,
            history_version=self._history_version,
            n_records=len(history.series),
            last=history.last_point(),
            last_step_at=newest_time(history.recent),
            attempt=history.attempt,
            phase=history.phase,
            marks=marks,
            events=self._events.events,
            health=self._health.health,
            warnings=(self._sources.warning,) if self._sources.warning else (),
            judged_alarms=self._health.alarms,
            pace=self._pace,
            audits=self._audits.all,
            phase_audits=self._audits.current_phase,
            checkpoints=self._checkpoints.rows,
            checkpoint_bytes=self._checkpoints.total_bytes,
            skipped=self._checkpoints.skipped,
            pins_problem=self._thinning.problem,
            refusals=self._next_start.refusals,
            free_bytes=free_bytes,
            free_inodes=free_inodes,
            log_tail=self._log.lines,
            kills=_kills(presence, state),
            outlook=self.restarter.outlook if self.restarter is not None else "",
        )
        return replace(facts, shown=history.point_at(step_of_run(facts)))

    def _look_at_whole(
        self, marks: tuple[Mark, ...], settings: Settings | None, end: Event | None
    ) -> None:
        """Events and health."""
        may_judge, is_shown = self._may_judge, self._is_history_shown
        self._is_history_shown = self._is_complete
        if not self._is_complete:
            return
        series, audits = self.series.view(), self._audits.all
        if is_shown:
            self._events.look(series, marks, audits, settings, end)
        if may_judge:
            self._health.look(self._clock.monotonic(), series, audits, settings, marks)

    def _with_idle_time(self, facts: Facts) -> Facts:
        """A foreign machine's times say nothing by this clock: from there, two looks count."""
        self.doubt_seconds = 0.0
        if not facts.is_complete:
            return facts
        state, now = facts.state or State(), self._clock.monotonic()
        moved = (facts.presence, facts.history_version, state.step, state.doing, state.detail)
        ago = self._newest_time_ago(facts)
        before = max(0.0, ago) if ago is not None and _shares_clock(facts.presence) else 0.0
        idle_seconds = self._idle.seconds(moved, now=now, before=before)
        facts = replace(facts, idle_seconds=idle_seconds)
        if facts.presence.is_running:
            patience = evidence_of(facts).patience_seconds
            self.doubt_seconds = self._idle.doubt_seconds(
                now=now, ago=ago, patience_seconds=patience
            )
        return facts

    def _newest_time_ago(self, facts: Facts) -> float | None:
        """Seconds by this machine's clock since the newest time that the run's files tell."""
        told_at = facts.state.t if facts.state is not None and facts.is_state_current else None
        times = (_lock_time(self.run), facts.last_step_at, told_at)
        last = max((t for t in times if t is not None), default=None)
        return None if last is None else self._clock.wall() - last

    def _notes(self, *notes: str) -> tuple[str, ...]:
        lines = formatting.count(self._damaged_lines, "line")
        damage = f"{self.run.loss.name}: {lines} can't be read"
        return tuple(text for text in (*notes, damage if self._damaged_lines else "") if text)


async def reasons_to_look(follower: Follower) -> AsyncGenerator[None, None]:
    """When to look again: at once until the history is complete, then at each change or tick."""
    async with aclosing(wakes(follower.run.path)) as changes:
        while True:
            if follower.is_complete:
                follower.watching_note = (await anext(changes)).note
            yield


def is_state_current(state: State | None, presence: Presence, child_pid: int | None) -> bool:
    """Whether the state file is of the trainer that runs; if none does, of the last that did.

    A foreign command may be a shell whose child is the trainer: a live writer is believed.
    """
    if state is None:
        return False
    if not presence.is_running or presence.holder is None:
        return child_pid in (None, state.pid)
    if state.pid in (0, presence.holder.pid) or not presence.holder.pid:
        return True
    return presence.liveness is Liveness.ALIVE and process_start_time(state.pid) is not None


def _takes_signals(presence: Presence, state: State | None) -> bool:
    """By the kernel's word; from afar by the trainer's own."""
    if presence.liveness is Liveness.ALIVE and presence.holder is not None:
        return takes(presence.holder.pid, Ask.CHECKPOINT)
    return state is not None and state.takes_signals


def _seen(view: RunView, state: State | None) -> Seen:
    return Seen(
        pid=view.pid,
        last_save=state.last_save if state is not None else None,
        state_pid=state.pid if state is not None else 0,
        newest=view.newest,
        end=f"{view.status.word}: {view.status.detail}",
    )


def _free(run: RunDirectory) -> tuple[int | None, int | None]:
    """Bytes and inodes that are free; a file system without a table of inodes tells none."""
    try:
        disk = os.statvfs(run.path)
    except OSError:
        return None, None
    return disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else None


def _kills(presence: Presence, state: State | None) -> Mapping[str, int]:
    """Asked where the last trainer has ended without a word."""
    if presence.is_held or state is None or state.doing in ENDED or state.memory is None:
        return {}
    return kills_since(state.memory)


def _shares_clock(presence: Presence) -> bool:
    """Whether the times that the trainer writes are of this machine's clock."""
    holder = presence.holder
    return holder is not None and bool(holder.pid) and holder.is_on_this_machine


def _lock_time(run: RunDirectory) -> float | None:
    try:
        return run.lock.stat().st_mtime
    except OSError:
        return None

"""Following a run: real files, a clock of the test's own."""

import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.follow.follower import Clock, Follower, reasons_to_look
from console.operations.operations import Operations
from console.view.machine import Machine
from console.view.run_view import Audit, RequestStage, RunView, Severity
from tests.console.conftest import Start
from tests.waiting import wait_for
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import Holder, TrainerLock
from trainer.rundir.records.record_file import RecordArray
from trainer.rundir.state import Replay, Save, State, write_state

WALL = 1_800_000_000.0


class TestClock:
    """Both clocks stand still until they are moved."""

    __test__ = False

    def __init__(self) -> None:
        self.now = 1000.0
        self.wall = WALL

    def both(self) -> Clock:
        return Clock(monotonic=lambda: self.now, wall=lambda: self.wall)

    def pass_seconds(self, seconds: float) -> None:
        self.now += seconds
        self.wall += seconds


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def follower(run: RunDirectory, clock: TestClock) -> Follower:
    return Follower(run, clock=clock.both())


def test_a_look_that_fails_is_not_tried_again_at_once(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(run: RunDirectory) -> None:
        raise PermissionError("no right to look into it")

    monkeypatch.setattr("console.follow.follower.presence_of", refuse)  # root is refused nothing
    with pytest.raises(PermissionError):
        follower.look()
    assert follower.is_complete


@pytest.fixture
def losses(run: RunDirectory) -> RecordArray:
    return RecordArray(run.loss)


def record(step: int, **fields: Any) -> dict[str, Any]:
    return {
        "step": step,
        "attempt": 1,
        "phase": 1,
        "loss": 5.0,
        "ema": 5.0,
        "ms": 10_000.0,
        "t": WALL - 100 + 10 * step,
        **fields,
    }


@pytest.fixture
def held(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes this very process the run's trainer, with a state of its own."""
    lock = TrainerLock(run.lock)
    pid = orjson.loads(run.lock.read_bytes())["pid"]
    monkeypatch.setattr("console.follow.follower._lock_time", lambda run: WALL - 50)

    def tell(**fields: Any) -> None:
        state = {"pid": pid, "doing": "training", "attempt": 1, "t": WALL - 50}
        write_state(run.state, State(**{**state, **fields}))

    tell.lock = lock  # type: ignore[attr-defined]
    return tell


def test_a_new_run_is_not_running_and_all_else_is_unknown(follower: Follower) -> None:
    view = follower.look()
    assert (view.status.word, view.is_running, view.step) == ("not running", False, 0)
    assert (view.last, view.newest, view.eta_seconds, view.steps_per_minute) == (None,) * 4
    assert view.total_steps == 2000
    assert view.checkpoint_every == 100


def test_nothing_changed_gives_an_equal_view(
    follower: Follower, losses: RecordArray, held: Callable[..., None], clock: TestClock
) -> None:
    losses.append(record(1))
    held(step=1)
    before = follower.look()
    clock.pass_seconds(2)
    assert follower.look() == before
    losses.append(record(2))
    after = follower.look()
    assert after != before
    assert after.history_version > before.history_version


def test_pace_and_eta_follow_from_the_records_while_it_runs(
    follower: Follower, losses: RecordArray, held: Callable[..., None]
) -> None:
    for step in range(1, 11):
        losses.append(record(step))
    held(step=10)
    view = follower.look()
    assert view.status.word == "training"
    assert view.steps_per_minute == pytest.approx(6)
    assert view.eta_seconds == pytest.approx(10 * 1990)
    held.lock.release()  # type: ignore[attr-defined]
    view = follower.look()
    assert view.status.word == "failed"
    assert (view.steps_per_minute, view.eta_seconds) == (None, None)


def test_the_machine_is_that_of_the_trainer_that_holds_the_run_or_only_its_name(
    follower: Follower, run: RunDirectory, held: Callable[..., None], clock: TestClock
) -> None:
    held(step=1)
    follower.look()
    machine = follower.look_at_machine()
    assert machine.trainer is not None
    assert machine.trainer.rss_bytes
    assert machine.room.free_bytes == follower.look().free_bytes
    run.lock.write_bytes(orjson.dumps(orjson.loads(run.lock.read_bytes()) | {"host": "node-7"}))
    follower.look()
    assert follower.look_at_machine().trainer_host == "node-7"
    held.lock.release()  # type: ignore[attr-defined]
    clock.pass_seconds(2)
    follower.look()
    machine = follower.look_at_machine()
    assert (machine.trainer_host, machine.trainer) == ("", None)


def test_the_machine_is_not_looked_at_while_a_long_history_is_read(
    run: RunDirectory, losses: RecordArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.view.cached_file.CHUNK_BYTES", 500)
    monkeypatch.setattr("console.follow.follower._LOOK_SECONDS", 0.0)
    for step in range(1, 21):
        losses.append(record(step))
    follower = Follower(run)
    n_looks = 0
    while not follower.look().is_complete:
        n_looks += 1
        assert follower.look_at_machine() == Machine()
    assert n_looks > 1
    assert follower.look_at_machine().ram_bytes


def test_a_foreign_clock_makes_no_stall_and_hides_none(
    run: RunDirectory, losses: RecordArray, held: Callable[..., None], clock: TestClock
) -> None:
    for step in range(1, 11):
        losses.append(record(step))
    held(step=10)
    run.lock.write_bytes(orjson.dumps(orjson.loads(run.lock.read_bytes()) | {"host": "node-7"}))
    for clock.wall in (WALL + 86_400, WALL - 86_400):
        follower = Follower(run, clock=clock.both())
        assert follower.look().status.word == "training"
        assert follower.doubt_seconds == pytest.approx(30)
        clock.pass_seconds(31)
        assert follower.look().status.word == "stalled"
        assert follower.doubt_seconds == 0


def test_no_step_for_three_medians_is_a_stall_and_the_next_step_ends_it(
    follower: Follower, losses: RecordArray, held: Callable[..., None], clock: TestClock
) -> None:
    for step in range(1, 11):
        losses.append(record(step))
    held(step=10)
    assert follower.look().status.word == "training"
    clock.pass_seconds(29)
    assert follower.look().status.word == "training"
    clock.pass_seconds(2)
    view = follower.look()
    assert (view.status.word, view.status.severity) == ("stalled", Severity.ATTENTION)
    assert "no checkpoint yet" in view.status.detail
    losses.append(record(11))
    assert follower.look().status.word == "training"


def test_a_stall_is_seen_on_attaching(
    follower: Follower, losses: RecordArray, held: Callable[..., None], clock: TestClock
) -> None:
    for step in range(1, 11):
        losses.append(record(step))
    held(step=10, t=WALL)
    clock.wall += 3600
    assert follower.look().status.word == "stalled"


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_setting_the_wall_clock_changes_nothing(
    follower: Follower,
    losses: RecordArray,
    held: Callable[..., None],
    clock: TestClock,
    jump: float,
) -> None:
    for step in range(1, 11):
        losses.append(record(step))
    held(step=10)
    before = follower.look()
    clock.wall += jump
    assert follower.look() == before
    losses.append(record(11, t=WALL + jump))
    after = follower.look()
    assert after.status.word == "training"
    assert after.eta_seconds is not None
    assert after.eta_seconds == pytest.approx(10 * 1989)


def test_a_clock_set_back_before_attaching_is_no_stall(
    follower: Follower, losses: RecordArray, held: Callable[..., None], clock: TestClock
) -> None:
    losses.append(record(1))
    held(step=1)
    clock.wall -= 3600
    assert follower.look().status.word == "training"


def test_an_audit_may_take_its_time(
    follower: Follower, losses: RecordArray, held: Callable[..., None], clock: TestClock
) -> None:
    losses.append(record(1))
    held(step=1, doing="sampling")
    follower.look()
    clock.pass_seconds(120)
    assert follower.look().status.word == "sampling"
    clock.pass_seconds(200)
    assert follower.look().status.word == "stalled"


def test_steps_trained_again_count_from_the_state_not_from_old_records(
    follower: Follower, losses: RecordArray, held: Callable[..., None]
) -> None:
    for step in range(1, 155):
        losses.append(record(step))
    held(step=120, attempt=2)
    assert follower.look().step == 120
    losses.append(record(155, attempt=2))
    view = follower.look()
    assert view.step == 155
    assert [mark.label for mark in view.marks] == ["start 2"]


def test_the_loss_is_that_of_the_step_that_is_shown(
    follower: Follower, losses: RecordArray, held: Callable[..., None]
) -> None:
    for step in (*range(1, 130), *range(131, 155)):
        losses.append(record(step, loss=step / 8, ema=step / 16))
    shown = []
    for step in (120, 130, 154, 155):
        held(step=step, attempt=2)
        view = follower.look()
        shown.append((view.step, view.last and (view.last.loss, view.last.ema)))
    # The record of step 130 is missing; that of step 155 is not read yet.
    assert shown == [(120, (15.0, 7.5)), (130, None), (154, (19.25, 9.625)), (155, (19.25, 9.625))]


def test_a_proven_replay_is_a_note(follower: Follower, held: Callable[..., None]) -> None:
    replay = Replay(first_step=101, last_step=154, proven=53)
    held(step=153, replay=replay, notes=("a repaired tail",))
    assert follower.look().notes == ("a repaired tail",)
    held(step=154, replay=replace(replay, proven=54), notes=("a repaired tail",))
    assert follower.look().notes == (
        "a repaired tail",
        "steps 101 to 154 trained again: 54 proven equal to the record on file",
    )


def test_a_state_of_another_trainer_is_not_believed(
    follower: Follower, held: Callable[..., None]
) -> None:
    held(pid=2**22 + 1, doing="stopped", exit_code=143)
    assert follower.look().status.word == "starting"


def test_a_trainer_that_ended_between_two_looks_told_its_end(
    follower: Follower, held: Callable[..., None]
) -> None:
    held(doing="training")
    assert follower.look().status.word == "training"
    held.lock.release()  # type: ignore[attr-defined]
    assert "vanished" in follower.look().status.detail
    held(doing="stopped", exit_code=143, reason="stopped by SIGTERM; checkpoint written")
    assert follower.look().status.word == "stopped"


def test_a_replaced_history_starts_anew(
    follower: Follower, run: RunDirectory, losses: RecordArray
) -> None:
    for step in range(1, 11):
        losses.append(record(step))
    assert follower.look().n_records == 10
    run.loss.unlink()
    RecordArray(run.loss).append(record(1))
    assert follower.look().n_records == 1


def test_a_torn_record_waits_for_its_rest(follower: Follower, run: RunDirectory) -> None:
    whole = orjson.dumps(record(1))
    run.loss.write_bytes(b"[\n" + whole + b",\n" + orjson.dumps(record(2))[:20])
    assert follower.look().n_records == 1
    run.loss.write_bytes(b"[\n" + whole + b",\n" + orjson.dumps(record(2)) + b"\n]\n")
    assert follower.look().n_records == 2


def test_a_long_history_is_read_in_parts_that_can_be_shown(
    run: RunDirectory, losses: RecordArray, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.view.cached_file.CHUNK_BYTES", 2000)
    for step in range(1, 101):
        losses.append(record(step))
    follower = Follower(run, clock=Clock(monotonic=lambda: clock.__dict__["now"], wall=lambda: 0))
    monkeypatch.setattr("console.follow.follower._LOOK_SECONDS", 0.0)
    sizes = [follower.look().n_records]
    while not follower.is_complete:
        sizes.append(follower.look().n_records)
    assert sizes == sorted(sizes)
    assert 0 < sizes[0] < 100 == sizes[-1]


async def test_reasons_to_look_come_at_once_until_all_is_read(
    run: RunDirectory, losses: RecordArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.view.cached_file.CHUNK_BYTES", 2000)
    monkeypatch.setattr("console.follow.follower._LOOK_SECONDS", 0.0)
    for step in range(1, 101):
        losses.append(record(step))
    follower = Follower(run)
    reasons = reasons_to_look(follower)
    n_looks = 0
    while not follower.is_complete:
        await anext(reasons)
        follower.look()
        n_looks += 1
    assert n_looks > 3
    losses.append(record(101))
    await anext(reasons)
    assert follower.look().n_records == 101
    await reasons.aclose()


def test_a_run_that_goes_away_is_a_state_and_another_in_its_place_is_not_taken_for_it(
    follower: Follower, run: RunDirectory, losses: RecordArray
) -> None:
    losses.append(record(1))
    follower.look()
    shutil.rmtree(run.path)
    view = follower.look()
    assert (view.status.word, view.n_records, view.free_bytes) == ("moved", 1, None)
    run.path.mkdir()
    RecordArray(run.loss).append(record(1))
    assert follower.look().status.detail.startswith("another directory is under its name")
    assert Follower(run).look().n_records == 1


def test_a_killed_trainer_is_dead_with_its_signal(run: RunDirectory, start: Start) -> None:
    operations = Operations(run)
    follower = Follower(run, operations)
    operations.launched = start("--every", "5")
    wait_for(lambda: follower.look().newest, "a checkpoint")
    (run.path / "vanish").touch()
    words = "(killed by SIGKILL); last good checkpoint: step "
    wait_for(lambda: words in follower.look().status.detail, "its death")
    assert follower.look().status.word == "failed"


def test_a_trainer_that_appears_later_is_found(run: RunDirectory, start: Start) -> None:
    follower = Follower(run)
    assert follower.look().status.word == "not running"
    launched = start()
    assert follower.look().pid == launched.pid
    wait_for(lambda: follower.look().n_records > 3, "its records")


def test_a_trainer_without_a_state_file_is_shown_from_lock_and_records(
    run: RunDirectory, start: Start
) -> None:
    start("--no-state")
    operations = Operations(run)
    follower = Follower(run, operations)

    def words() -> tuple[str, bool]:
        view = follower.look()
        return view.status.word, view.takes_signals

    wait_for(lambda: words() == ("training", True), "its first record")
    assert operations.checkpoint().ok
    wait_for(lambda: stage(follower.look()) is RequestStage.WRITTEN, "the checkpoint asked for")


def stage(view: RunView) -> RequestStage | None:
    return view.request.stage if view.request else None


NAMES = (".loss.json", ".samples.json", ".state.json", "run.toml", "trainer.log", "trainer.lock")
ODD = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.lists(st.integers(0, 9), max_size=2)
)
KEYS = st.sampled_from(
    sorted({*record(1), *State.__slots__, *Audit.__slots__, *Holder.__slots__, *Save.__slots__})
)
OBJECTS = st.dictionaries(KEYS, ODD | st.dictionaries(st.text(), ODD | st.dictionaries(KEYS, ODD)))
JSON = (OBJECTS | ODD).map(lambda value: orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))
LINES = st.lists(JSON, max_size=5).map(lambda rows: b"[\n" + b",\n".join(rows) + b"\n]\n")
BYTES = st.binary(max_size=200) | JSON | LINES
STEPS = st.sampled_from(["step_000100.bin", "step_000200.bin", "step_9999999999.bin"])
HEADERS = st.binary(max_size=30) | st.tuples(st.integers(0, 200), st.integers(-1, 2)).map(
    lambda header: struct.pack("<ii", *header) + bytes(12 * max(0, header[1]))
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    looks=st.lists(
        st.dictionaries(st.sampled_from(NAMES), BYTES, max_size=4), min_size=1, max_size=3
    ),
    checkpoints=st.dictionaries(STEPS, HEADERS),
    is_held=st.booleans(),
)
def test_any_bytes_in_any_file_are_a_view(
    tmp_path_factory: pytest.TempPathFactory,
    looks: list[dict[str, bytes]],
    checkpoints: dict[str, bytes],
    is_held: bool,
) -> None:
    run = RunDirectory(tmp_path_factory.mktemp("odd"))
    lock = TrainerLock(run.lock) if is_held else None
    follower = Follower(run)
    for files in looks:
        for name, data in (files | checkpoints).items():
            (run.path / name).write_bytes(data)
        view = follower.look()
        assert isinstance(view, RunView)
        assert view.eta_seconds is None or view.eta_seconds >= 0
        assert view.step >= 0
        hash(view.status)
    if lock is not None:
        lock.release()
    assert follower.look().is_complete


def test_folders_in_place_of_files_are_a_view(tmp_path: Path) -> None:
    for name in (*NAMES, "step_000100.bin"):
        (tmp_path / name).mkdir()
    view = Follower(RunDirectory(tmp_path)).look()
    assert view.status.word == "not running"
    assert view.skipped


def test_a_trainer_that_can_write_no_file_any_more_is_ill_by_its_files_alone(
    run: RunDirectory, losses: RecordArray, held: Callable[..., None], clock: TestClock
) -> None:
    """No inode left: the history grows, while no save and no state comes about."""
    for step in range(1, 32):
        losses.append(record(step))
    held(step=12, t=record(12)["t"])
    settings = run.settings.read_text()
    run.settings.write_text(settings.replace("every = 100", "every = 20"))
    clock.wall = record(31)["t"]
    overdue, stale = Follower(run, clock=clock.both()).look().alarms
    assert overdue == "checkpoint overdue: none yet, and one is due every 20 steps"
    assert stale.startswith(".state.json can't be written: it is 3 min older than the newest step")


def test_a_failed_save_is_an_alarm_within_a_look(
    follower: Follower, held: Callable[..., None]
) -> None:
    held(last_save=Save(step=100, ok=False, error="No space left on device"))
    assert follower.look().alarms == ("checkpoint of step 100 not saved: No space left on device",)


def test_events_are_there_once_the_whole_history_was_shown(
    run: RunDirectory, follower: Follower, losses: RecordArray
) -> None:
    losses.append(record(1))
    losses.append(record(2, attempt=2))
    assert follower.look().events == ()
    events = follower.look().events
    assert [(event.step, event.text) for event in events] == [(2, "start 2")]
    assert follower.look().events is events

"""A stop has a deadline: a step that can't be saved in time is given up, the one before is kept."""

import signal
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.tiny import ask_stop, make_tiny_run, start_trainer, strict_json, timeless, train_here
from trainer.deadline import Deadline, StepGivenUp, expected_save, seconds_of
from trainer.loop import Training
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, SettingsError
from trainer.rundir.state import read_state
from trainer.signals import Signals


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def deadline_with(
    clock: Clock, *, step: float, save: float, within: float = 30.0, is_alone: bool = True
) -> Deadline:
    """After a step of so many seconds, in the midst of a next one that has just begun."""
    made = Deadline(
        signals=Signals(),
        within_seconds=within,
        save_seconds=lambda: save,
        is_alone=is_alone,
        monotonic=clock,
    )
    made.begin_step()
    clock.now += step
    made.end_step()
    made.begin_step()
    return made


def stop_after(deadline: Deadline, clock: Clock, seconds: float) -> None:
    """A SIGTERM so long after the step began."""
    clock.now += seconds
    deadline.signals.on_stop(signal.SIGTERM, None)
    deadline.signals.asked_at = clock.now


def gives_up(deadline: Deadline) -> bool:
    """Before its next pass."""
    try:
        deadline.before_micro_step()
    except StepGivenUp:
        return True
    return False


@pytest.mark.parametrize(
    ("step", "save", "is_given_up"),
    [(10, 5, False), (10, 20, True), (60, 5, True), (30, 1, False), (0, 100, True)],
)
def test_a_step_is_given_up_where_it_and_its_save_would_be_too_late(
    step: float, save: float, is_given_up: bool
) -> None:
    clock = Clock()
    deadline = deadline_with(clock, step=step, save=save)
    assert not gives_up(deadline), "nobody has asked for a stop"
    stop_after(deadline, clock, 4)
    assert gives_up(deadline) is is_given_up


def test_a_step_that_takes_longer_than_those_before_is_given_up_once_it_is_too_late() -> None:
    clock = Clock()
    deadline = deadline_with(clock, step=1, save=2)
    stop_after(deadline, clock, 0)
    clock.now += 26
    assert not gives_up(deadline)
    clock.now += 1
    with pytest.raises(StepGivenUp, match=r"after 27\.0 s"):
        deadline.before_micro_step()


def test_without_a_limit_or_with_other_ranks_in_it_no_step_is_given_up() -> None:
    clock = Clock()
    for deadline in (
        deadline_with(clock, step=1, save=2, within=0.0),
        deadline_with(clock, step=1, save=2, is_alone=False),
    ):
        stop_after(deadline, clock, 0)
        clock.now += 1e6
        assert not gives_up(deadline)


def test_a_runs_own_limit_leaves_time_for_a_step_and_its_save() -> None:
    clock = Clock()
    deadline = deadline_with(clock, step=10, save=4)
    deadline.end_step()
    deadline.end_within(clock.now + 100)
    deadline.end_within(clock.now + 5000)  # the earlier one counts
    needed = 10 + 1.25 * 4 + 1
    clock.now += 100 - needed - 0.5
    assert not deadline.look()
    clock.now += 0.5
    assert deadline.look()
    deadline.save_seconds = lambda: 0.0
    assert deadline.look()  # it stays so


def test_the_first_save_of_a_start_is_expected_to_be_slow() -> None:
    assert expected_save(1_440_000_000, None) == pytest.approx(14.4)
    assert expected_save(1_440_000_000, 2.5) == 2.5


@pytest.mark.parametrize(
    ("text", "seconds"), [("11h50m", 42_600), ("90m", 5400), ("2d", 172_800), ("1.5s", 1.5)]
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "12", "h", "5x", "3h 2m", "-1h", "1h2"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration, as 11h50m"):
        seconds_of(text)


def set_in(run: RunDirectory, line: str) -> None:
    text = run.settings.read_text()
    run.settings.write_text(text.replace("[train]\n", f"[train]\n{line}\n"))


def too_late_in_step(step: int) -> Callable[[Training], None]:
    """A stop in the midst of the step that only a slow disk's saves make too late."""

    def act(training: Training) -> None:
        training.deadline.save_seconds = lambda: 1e6
        look = training.engine.before_micro_step

        def asked() -> None:
            if training.engine.step == step - 1:
                ask_stop(training)
            look()

        training.engine.before_micro_step = asked

    return act


@pytest.mark.parametrize("step", [7, 9])
def test_a_step_given_up_for_a_slow_disk_costs_nothing_but_itself(
    tmp_path: Path, step: int
) -> None:
    straight = make_tiny_run(tmp_path / "straight", total_steps=16, every=8, rules=4)
    train_here(straight)
    run = make_tiny_run(tmp_path / "run", total_steps=16, every=8, rules=4)
    set_in(run, "stop_within_seconds = 30.0")
    assert train_here(run, {5: too_late_in_step(step)}) is Exit.TERMINATED
    newest = list_checkpoints(run.path, None).newest
    assert newest is not None
    assert newest.step == step - 1 == len(strict_json(run.loss))
    assert train_here(run) is Exit.FINISHED
    assert timeless(strict_json(run.loss)) == timeless(strict_json(straight.loss))
    last = "step_000016.bin"
    assert (run.path / last).read_bytes() == (straight.path / last).read_bytes()
    audited = [audit["step"] for audit in strict_json(run.samples)]
    assert step - 1 in audited, "the audit that was owed"


def test_a_first_step_given_up_leaves_nothing_to_save(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=16, rules=4)
    set_in(run, "stop_within_seconds = 1e-9")
    signals = Signals()
    with pytest.MonkeyPatch.context() as patch:
        look = Deadline.before_micro_step

        def asked(deadline: Deadline) -> None:
            signals.on_stop(signal.SIGTERM, None)
            look(deadline)

        patch.setattr(Deadline, "before_micro_step", asked)
        assert train_here(run, signals=signals) is Exit.TERMINATED
    assert list_checkpoints(run.path, None).newest is None
    assert train_here(run) is Exit.FINISHED


def test_a_run_ends_by_itself_within_its_time_and_goes_on_later(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=100_000, every=1000, rules=4)
    process = start_trainer(run, "--for", "6s")
    assert process.wait(120) == Exit.TERMINATED
    state, newest = read_state(run.state), list_checkpoints(run.path, None).newest
    assert state is not None
    assert state.reason == "its own time is over (train.end_at or --for)"
    assert (newest.step if newest else 0) == state.step == len(strict_json(run.loss))


def test_an_end_that_is_over_trains_nothing(tmp_path: Path) -> None:
    run = make_tiny_run(tmp_path / "run", rules=4)
    set_in(run, 'end_at = "2020-01-01 12:00"')
    assert train_here(run) is Exit.TERMINATED
    assert not run.loss.exists() or strict_json(run.loss) == []
    later = datetime.fromtimestamp(time.time()) + timedelta(days=1)
    run.settings.write_text(run.settings.read_text().replace("2020-01-01 12:00", f"{later}"))
    assert train_here(run) is Exit.FINISHED


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('end_at = "soon"', r"train\.end_at: 'soon' is no moment, as 2026-12-05 18:00"),
        ("stop_within_seconds = -1.0", r"train\.stop_within_seconds: -1 is no finite number"),
    ],
)
def test_a_limit_that_is_none_is_refused(tmp_path: Path, line: str, words: str) -> None:
    run = make_tiny_run(tmp_path / "run", rules=4)
    set_in(run, line)
    with pytest.raises(SettingsError, match=words):
        train_here(run)

"""When a crashed trainer is started again, and when no more."""

import pytest

from console.operations.operations import Outcome
from console.operations.restarts import MOST_CRASHES, Restarter, has_crashed
from trainer.rundir.outcomes import Exit
from trainer.rundir.state import State


class Play:
    """A run that crashes and is looked at by a clock that the test sets."""

    def __init__(self) -> None:
        self.is_crashed = self.is_wanted = True
        self.newest_step = 100
        self.now = 0.0
        self.refusal = ""
        self.launches: list[float] = []
        self.outlooks: list[str] = []
        """What was told, without repetitions."""
        self.restarter = Restarter(
            is_wanted=lambda: self.is_wanted,
            look=self.look,
            launch=self.launch,
            monotonic=lambda: self.now,
        )

    def look(self) -> tuple[bool, int]:
        return self.is_crashed, self.newest_step

    def launch(self) -> Outcome:
        if self.refusal:
            return Outcome(ok=False, message=self.refusal)
        self.launches.append(self.now)
        self.is_crashed = False
        return Outcome(ok=True, message="")

    def crash_again(self) -> None:
        self.restarter.consider()
        self.is_crashed = True

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.restarter.consider()
            self.now += 1.0
            if self.outlooks[-1:] != [self.restarter.outlook]:
                self.outlooks.append(self.restarter.outlook)


def test_first_start_comes_after_a_pause() -> None:
    play = Play()
    play.wait(300)
    assert play.launches == [10.0]


def test_third_crash_without_a_newer_checkpoint_is_the_last() -> None:
    play = Play()
    for _ in range(MOST_CRASHES + 2):
        play.wait(1000)
        play.crash_again()
    assert play.launches == [10.0, 1060.0]


def test_newer_checkpoint_begins_a_new_row() -> None:
    play = Play()
    for _ in range(5):
        play.wait(100)
        play.newest_step += 100
        play.crash_again()
    assert play.launches == [10.0, 110.0, 210.0, 310.0, 410.0]


def test_row_that_was_given_up_is_taken_up_after_progress_made_by_hand() -> None:
    play = Play()
    for _ in range(MOST_CRASHES):
        play.wait(100)
        play.crash_again()
    play.is_crashed = False
    play.wait(1)
    play.is_crashed, play.newest_step = True, 900
    play.wait(100)
    assert len(play.launches) == 3


def test_start_that_someone_else_makes_ends_the_waiting() -> None:
    play = Play()
    play.wait(5)
    play.is_crashed = False
    play.wait(100)
    assert play.launches == []


def test_what_comes_is_told_and_seldom_told_anew() -> None:
    play = Play()
    for _ in range(MOST_CRASHES):
        play.wait(300)
        play.crash_again()
    assert play.outlooks == [
        "this console starts it again within 10 s (crash 1 of 3)",
        "",
        *(
            f"this console starts it again within {tens} s (crash 2 of 3)"
            for tens in (60, 50, 40, 30, 20, 10)
        ),
        "",
        "not started again: 3 crashes without a newer checkpoint; r resumes",
    ]


def test_start_that_is_refused_is_told_and_not_tried_again() -> None:
    play = Play()
    play.refusal = "launch: a pivot is half done"
    play.wait(300)
    assert play.outlooks[-1] == "not started again: launch: a pivot is half done"
    play.refusal = ""
    play.wait(300)
    assert play.launches == []


def test_crash_right_after_a_start_is_another_crash() -> None:
    play = Play()

    def launch_and_die() -> Outcome:
        play.launches.append(play.now)
        return Outcome(ok=True, message="")

    play.restarter = Restarter(
        is_wanted=lambda: True, look=play.look, launch=launch_and_die, monotonic=lambda: play.now
    )
    play.wait(300)
    assert play.launches == [10.0, 71.0]


def test_only_a_run_that_wants_it_is_started_again_and_it_may_want_it_later() -> None:
    play = Play()
    play.is_wanted = False
    play.wait(100)
    assert (play.launches, play.outlooks) == ([], [""])
    play.is_wanted = True
    play.wait(100)
    assert play.launches == [110.0]


@pytest.mark.parametrize(
    ("state", "is_held", "crashed"),
    [
        (State(doing="training"), False, True),
        (State(doing="training"), True, False),
        (State(doing="failed", exit_code=Exit.ERROR), False, True),
        (State(doing="failed", exit_code=Exit.NONFINITE), False, False),
        (State(doing="failed", exit_code=Exit.SAVE_FAILED), False, False),
        (State(doing="stopped", exit_code=Exit.TERMINATED), False, False),
        (State(doing="finished", exit_code=Exit.FINISHED), False, False),
        (State(doing="failed", exit_code=77), False, True),
        (State(doing="failed"), False, False),
        (None, False, False),
    ],
)
def test_crash_is_an_error_or_an_end_without_a_word(
    state: State | None, is_held: bool, crashed: bool
) -> None:
    assert has_crashed(state, is_held=is_held) is crashed


@pytest.mark.parametrize(
    ("child_exit", "crashed"),
    [(1, True), (77, True), (-9, True), (139, True)]
    + [(code, False) for code in (0, 2, 3, 4, 5, 6, 10, 130, 143, -15, -2)],
)
def test_foreign_trainer_without_a_state_has_crashed_by_its_exit_code(
    child_exit: int, crashed: bool
) -> None:
    assert has_crashed(None, is_held=False, child_exit=child_exit) is crashed
    stale = State(doing="stopped", exit_code=Exit.TERMINATED)
    assert has_crashed(stale, is_held=False, child_exit=child_exit) is crashed

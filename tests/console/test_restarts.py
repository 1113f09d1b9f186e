"""When a crashed trainer is started again, and when no more."""

import pytest

from console.restarts import MOST_CRASHES, Restarter, has_crashed
from trainer.rundir.outcomes import Exit
from trainer.rundir.state import State


class Play:
    """A run that crashes and is looked at by a clock that the test sets."""

    def __init__(self) -> None:
        self.is_crashed = True
        self.newest_step = 100
        self.now = 0.0
        self.launches: list[float] = []
        self.restarter = Restarter(look=self.look, launch=self.launch, monotonic=lambda: self.now)

    def look(self) -> tuple[bool, int]:
        return self.is_crashed, self.newest_step

    def launch(self) -> None:
        self.launches.append(self.now)
        self.is_crashed = False

    def crash_again(self) -> None:
        self.restarter.consider()
        self.is_crashed = True

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.restarter.consider()
            self.now += 1.0


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
        (None, False, False),
    ],
)
def test_crash_is_an_error_or_an_end_without_a_word(
    state: State | None, is_held: bool, crashed: bool
) -> None:
    assert has_crashed(state, is_held=is_held) is crashed

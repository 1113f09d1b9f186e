"""What becomes of a checkpoint that was asked for."""

from dataclasses import replace

from console.operations.checkpoint_requests import REQUESTED, Asked, RequestTracker, Seen, answer
from console.view.run_view import CheckpointRow, RequestStage
from trainer.rundir.state import Save

ASKED = Asked(pid=7, answered=2, newest_step=100)
OLD_SAVE = Save(step=100, ok=True, requests=2)
SEEN = Seen(pid=7, last_save=OLD_SAVE, state_pid=7, newest=None)


def row(step: int) -> CheckpointRow:
    return CheckpointRow(step=step, name="", n_bytes=154_000_000, modified=0.0)


def test_it_is_open_until_a_save_answers_it() -> None:
    assert answer(ASKED, SEEN) == REQUESTED
    assert answer(ASKED, replace(SEEN, newest=row(200))) == REQUESTED
    save = Save(step=123, ok=True, bytes=154_000_000, seconds=0.4, requests=3)
    answered = answer(ASKED, replace(SEEN, last_save=save))
    assert answered.stage is RequestStage.WRITTEN
    assert answered.message == "checkpoint of step 123 written: 154 MB in 0.40 s"
    assert answered.step == 123


def test_a_save_that_failed_says_why() -> None:
    save = Save(step=123, ok=False, error="No space left on device", requests=3)
    failed = answer(ASKED, replace(SEEN, last_save=save))
    assert failed.stage is RequestStage.FAILED
    assert failed.message == "checkpoint of step 123 not written: No space left on device"


def test_a_trainer_that_doesnt_tell_answers_by_a_newer_file() -> None:
    silent = replace(SEEN, last_save=None, state_pid=0, newest=row(100))
    assert answer(ASKED, silent) == REQUESTED
    assert answer(ASKED, replace(silent, newest=row(101))).stage is RequestStage.WRITTEN


def test_a_trainer_that_ended_first_fails_it() -> None:
    failed = answer(ASKED, replace(SEEN, pid=None, end="failed: killed by SIGKILL"))
    assert failed.stage is RequestStage.FAILED
    assert failed.message == "no checkpoint written: failed: killed by SIGKILL"
    assert answer(ASKED, replace(SEEN, pid=8, state_pid=8)).stage is RequestStage.FAILED


def test_a_trainer_that_saved_before_its_end_has_answered_it() -> None:
    gone = replace(SEEN, pid=None, newest=row(101))
    assert answer(ASKED, gone).stage is RequestStage.WRITTEN


def is_open(tracker: RequestTracker) -> bool:
    return tracker.is_open


def test_the_tracker_keeps_the_answer_and_opens_anew() -> None:
    tracker = RequestTracker()
    assert tracker.look(SEEN) is None
    tracker.ask(ASKED)
    assert is_open(tracker)
    assert tracker.look(SEEN) == REQUESTED
    save = replace(OLD_SAVE, requests=3)
    written = tracker.look(replace(SEEN, last_save=save))
    assert not is_open(tracker)
    assert tracker.look(SEEN) is written
    tracker.ask(replace(ASKED, answered=3))
    assert is_open(tracker)
    tracker.withdraw()
    assert tracker.look(SEEN) is None

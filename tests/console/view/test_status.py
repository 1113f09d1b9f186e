"""The run's state in words."""

import signal
from dataclasses import replace
from typing import Any

import pytest

from console.process.presence import Liveness, Presence
from console.view.run_view import Severity
from console.view.status import Evidence, status_of
from trainer.rundir.lock import Holder
from trainer.rundir.memory import Memory
from trainer.rundir.outcomes import EXIT_WORDS
from trainer.rundir.state import State

HOLDER = Holder(pid=7, start_time=1, host="here", boot_id="b")
ALIVE = Presence(liveness=Liveness.ALIVE, holder=HOLDER)
NOBODY = Presence(liveness=Liveness.NOBODY)


def told(presence: Presence, state: State | None, **more: Any) -> tuple[str, str, Severity]:
    more = {"is_state_current": state is not None, "newest_checkpoint_step": 100, **more}
    status = status_of(Evidence(presence=presence, state=state, **more))
    return status.word, status.detail, status.severity


@pytest.mark.parametrize(
    ("doing", "severity"),
    [
        ("starting", Severity.BUSY),
        ("training", Severity.OK),
        ("sampling", Severity.BUSY),
        ("saving", Severity.BUSY),
        ("stopping", Severity.BUSY),
    ],
)
def test_a_live_trainer_is_what_it_says(doing: str, severity: Severity) -> None:
    assert told(ALIVE, State(doing=doing, detail="d")) == (doing, "d", severity)


def test_a_trainer_that_can_not_be_seen_is_alive_elsewhere_and_where_is_told() -> None:
    there = Presence(liveness=Liveness.ELSEWHERE, holder=replace(HOLDER, host="gpu7"))
    word, detail, severity = told(there, State(doing="training"))
    assert (word, severity) == ("training", Severity.OK)
    assert detail == "on gpu7; c and q can't reach it from here"


def test_a_trainer_that_has_told_its_end_but_still_lives_is_stopping() -> None:
    assert told(ALIVE, State(doing="stopped"))[0] == "stopping"


def test_a_trainer_that_has_not_spoken_yet_is_starting() -> None:
    old = State(doing="stopped", exit_code=143)
    assert told(ALIVE, old, is_state_current=False, has_records=True)[0] == "starting"
    assert told(ALIVE, None)[0] == "starting"


def test_a_foreign_trainer_without_state_trains_once_it_records() -> None:
    assert told(ALIVE, None, has_records=True) == ("training", "", Severity.OK)
    assert told(ALIVE, State(doing="cooking"), has_records=True)[:2] == ("training", "cooking")


def test_a_stall_names_the_last_good_checkpoint() -> None:
    word, detail, severity = told(
        ALIVE, State(doing="training"), is_stalled=True, patience_seconds=30
    )
    assert (word, severity) == ("stalled", Severity.ATTENTION)
    assert detail == "nothing for over 30 s while training; last good checkpoint: step 100"


def test_a_trainer_that_vanished_has_failed() -> None:
    word, detail, severity = told(NOBODY, State(doing="training"))
    assert (word, severity) == ("failed", Severity.BAD)
    assert "vanished while training" in detail
    assert "last good checkpoint: step 100" in detail


@pytest.mark.parametrize(
    ("code", "doing", "word", "severity"),
    [
        (0, "finished", "finished", Severity.ENDED),
        (143, "stopped", "stopped", Severity.ENDED),
        (130, "stopped", "stopped", Severity.ENDED),
        (10, "held", "held", Severity.ATTENTION),
        (3, "failed", "failed", Severity.BAD),
        (6, "failed", "failed", Severity.BAD),
    ],
)
def test_a_told_end_is_believed(code: int, doing: str, word: str, severity: Severity) -> None:
    state = State(doing=doing, exit_code=code, reason="because")
    told_word, detail, told_severity = told(NOBODY, state)
    assert (told_word, told_severity) == (word, severity)
    assert detail.startswith("because")


@pytest.mark.parametrize(
    ("code", "reason", "word", "detail"),
    [
        (143, "", "stopped", "by SIGTERM; checkpoint written"),
        (130, "stopped by SIGINT; checkpoint written", "stopped", "by SIGINT; checkpoint written"),
        (
            143,
            "stopped while starting; nothing to save",
            "stopped",
            "while starting; nothing to save",
        ),
        (10, "", "held", "at a boundary for a pivot"),
        (0, "", "finished", "all steps done"),
        (
            3,
            "loss not finite at step 7; last good checkpoint: step 6",
            "failed",
            "loss not finite at step 7; last good checkpoint: step 6",
        ),
    ],
)
def test_an_end_tells_each_fact_once(code: int, reason: str, word: str, detail: str) -> None:
    state = State(doing=word, exit_code=code, reason=reason or EXIT_WORDS[code])
    assert told(NOBODY, state)[:2] == (word, detail)


def test_a_child_that_was_killed_says_by_what_in_the_words_of_one_only_watched() -> None:
    exit_code = -int(signal.SIGKILL)
    word, detail, _ = told(NOBODY, State(doing="training"), child_exit=exit_code)
    assert word == "failed"
    words = "the trainer vanished while training ({}); last good checkpoint: step 100"
    assert detail == words.format("killed by SIGKILL")
    assert told(NOBODY, State(doing="training"))[1] == words.format("killed?")
    assert told(NOBODY, None, child_exit=exit_code)[1].startswith("killed by SIGKILL; last good")


MEMORY = Memory(peak_bytes=12 * 10**9, total_bytes=16 * 10**9, oom_kills={"/proc/vmstat": 0})


@pytest.mark.parametrize("child_exit", [None, -9, 137])
@pytest.mark.parametrize(
    ("kills", "how"),
    [
        (
            {"/sys/fs/cgroup/a/memory.events": 1, "/proc/vmstat": 1},
            "killed by the kernel: out of memory, it had 12.0 GB at most",
        ),
        (
            {"/proc/vmstat": 2},
            "{}, probably by the kernel: it killed for want of memory then, it had 12.0 GB at most",
        ),
        (
            {},
            "{}, it had 12.0 GB at most of 16.0 GB; the kernel counts no kill for want of memory",
        ),
    ],
)
def test_a_kill_is_told_with_what_the_kernel_counts_and_the_memory_last_seen(
    child_exit: int | None, kills: dict[str, int], how: str
) -> None:
    state = State(doing="training", memory=MEMORY)
    _, detail, _ = told(NOBODY, state, child_exit=child_exit, kills=kills)
    how = how.format("killed?" if child_exit is None else "killed by SIGKILL")
    assert detail == f"the trainer vanished while training ({how}); last good checkpoint: step 100"


def test_a_child_that_refused_to_start_says_why_from_its_log() -> None:
    stale = State(doing="stopped", exit_code=143)
    word, detail, _ = told(
        NOBODY, stale, is_state_current=False, child_exit=2, last_log_line="train.lr: no such"
    )
    assert word == "failed"
    assert "train.lr: no such" in detail


def test_a_run_that_nobody_trains_is_not_running() -> None:
    assert told(NOBODY, None)[:2] == ("not running", "not started yet")
    assert told(NOBODY, None, has_records=True)[:2] == ("not running", "it has been trained before")


def test_what_a_dead_trainer_left_behind_is_bad() -> None:
    orphaned = Presence(liveness=Liveness.ORPHANED, holder=HOLDER)
    assert told(orphaned, State(doing="training"))[0] == "failed"


def test_an_unknown_exit_code_is_a_failure() -> None:
    assert told(NOBODY, None, child_exit=77)[0] == "failed"


def test_what_comes_is_told_of_a_crash_only() -> None:
    for presence, state, outlook in (
        (NOBODY, State(doing="training"), "starts again"),
        (NOBODY, State(doing="stopped", exit_code=143), ""),
        (ALIVE, State(doing="training"), ""),
    ):
        evidence = Evidence(
            presence=presence, state=state, is_state_current=True, outlook="starts again"
        )
        assert status_of(evidence).outlook == outlook

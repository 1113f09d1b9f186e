"""The last words after the screen has closed."""

from dataclasses import replace
from pathlib import Path

from console.ui import farewell
from console.view.run_view import Severity, Status
from tests.console import fixed_run


def test_a_stop_names_step_file_size_and_how_to_go_on() -> None:
    assert farewell.stopped(fixed_run.stopped_view()) == (
        "andrea-120m: stopped at step 113,943; step_113943.bin, 1.44 GB\n"
        "resume with: andrea-console runs/v3 --launch"
    )


def test_a_finished_run_is_not_offered_to_be_resumed() -> None:
    status = Status(word="finished", severity=Severity.ENDED)
    view = replace(fixed_run.stopped_view(), status=status, step=200_000)
    assert farewell.stopped(view).endswith("\nlook at it with: andrea-console runs/v3")


def test_a_failure_is_said_with_its_reason() -> None:
    status = Status(word="failed", detail="no space left", severity=Severity.BAD)
    view = replace(fixed_run.stopped_view(), status=status)
    assert "failed at step 113,943: no space left" in farewell.stopped(view)


def test_a_detach_says_what_goes_on_and_how_to_come_back_and_to_stop_it() -> None:
    words = farewell.detached(fixed_run.fixed_view(1))
    assert "training goes on (pid 4242) at step 113,942" in words
    assert "andrea-console runs/v3" in words
    assert "andrea-console stop runs/v3" in words


def test_who_leaves_before_a_restart_learns_that_nothing_else_makes_it() -> None:
    outlook = "this console starts it again within 10 s (crash 1 of 3)"
    crashed = Status(word="failed", severity=Severity.BAD, outlook=outlook)
    words = farewell.detached(replace(fixed_run.stopped_view(), status=crashed))
    assert "failed at step 113,943; nothing starts it again while no console is open\n" in words
    for word in ("failed", "stopped"):
        ended = Status(word=word, severity=Severity.BAD)
        assert "again" not in farewell.detached(replace(fixed_run.stopped_view(), status=ended))


def test_a_path_can_be_pasted_into_a_shell() -> None:
    view = replace(fixed_run.fixed_view(1), path=Path("my runs/$v"))
    assert "andrea-console 'my runs/$v'" in farewell.detached(view)


def test_before_the_first_look_nothing_is_claimed() -> None:
    assert farewell.detached(None) == "console closed"


def test_a_run_that_stops_or_has_ended_is_not_offered_to_be_stopped() -> None:
    status = Status(word="stopping", severity=Severity.BUSY)
    stopping = farewell.detached(replace(fixed_run.fixed_view(1), status=status))
    assert "stopping at step 113,942; the trainer ends by itself" in stopping
    told = farewell.detached(fixed_run.stopping_view(), is_stopping=True)
    assert "stopping at step 113,943; the trainer ends by itself" in told
    ended = farewell.detached(fixed_run.stopped_view())
    for words in (stopping, told, ended):
        assert words.endswith("\ncome back with: andrea-console runs/v3")

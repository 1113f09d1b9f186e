"""What wants attention."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from console.view.alarms import Progress, alarms_of
from console.view.disk_forecast import Room
from console.view.run_view import Audit, LossPoint
from trainer.rundir.checkpoints.checkpoint import Skipped
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.state import Save, State

PROGRESS = Progress(
    step=300,
    newest_checkpoint_step=200,
    checkpoint_every=100,
    state_behind_seconds=0.5,
    step_seconds=1.0,
)
SETTINGS = parse_settings('preset = "demo"')


def alarms(**facts: Any) -> tuple[str, ...]:
    nothing: dict[str, Any] = {
        "state": None,
        "settings": SETTINGS,
        "last": None,
        "audits": (),
        "room": Room(),
        "skipped": (),
        "progress": None,
    }
    return alarms_of(**{**nothing, **facts})


def audits(*scores: float | None, first_step: int = 200) -> tuple[Audit, ...]:
    return tuple(
        Audit(step=first_step + 100 * i, checkpoint="", score=score)
        for i, score in enumerate(scores)
    )


def test_a_healthy_run_has_none() -> None:
    state = State(last_save=Save(ok=True))
    room = Room(free_bytes=10**12, free_inodes=10**6, checkpoint_bytes=10**9)
    facts = {"state": state, "audits": audits(60), "room": room, "progress": PROGRESS}
    assert alarms(**facts) == ()


def test_the_trainers_own_alarms_come_first_and_once() -> None:
    failed = Save(step=100, ok=False, error="disk full")
    assert alarms(state=State(alarms=("not saved",), last_save=failed)) == ("not saved",)
    assert alarms(state=State(last_save=failed)) == ("checkpoint of step 100 not saved: disk full",)


def test_the_gate_is_announced_before_it_falls() -> None:
    assert alarms(audits=audits(60, 10)) == ()
    (alarm,) = alarms(audits=audits(60, 10, None, 20))
    assert alarm == "coherence gate: the last 2 audits under 30; 5 in a row halt the run"
    assert alarms(audits=audits(10, 20, 60)) == ()


def test_more_low_audits_than_halt_the_run_are_counted_in_a_true_sentence() -> None:
    (alarm,) = alarms(audits=audits(*[10] * 10))
    assert alarm == "coherence gate: the last 10 audits under 30; 5 in a row halt the run"


def test_a_run_that_has_finished_has_no_gate_before_it() -> None:
    assert alarms(state=State(doing="finished"), audits=audits(10, 10, 10)) == ()
    assert len(alarms(state=State(doing="stopped"), audits=audits(10, 10, 10))) == 1


def test_audits_of_the_warm_up_dont_count_for_the_gate() -> None:
    assert alarms(audits=audits(10, 10, 10, first_step=-100)) == ()


def test_a_loss_that_is_no_number_is_an_alarm() -> None:
    last = LossPoint(step=7, loss=None, ema=None, nonfinite="NaN")
    assert alarms(last=last) == ("the loss is NaN at step 7",)


def test_room_for_few_checkpoints_is_an_alarm() -> None:
    def about(free_bytes: int) -> str:
        return "".join(alarms(room=Room(free_bytes=free_bytes, checkpoint_bytes=100)))

    assert about(300) == ""
    assert "room for 2 more checkpoints" in about(299)
    assert "room for 1 more checkpoint" in about(199)
    assert "no checkpoint more" in about(99)


def test_inodes_that_are_used_up_before_the_bytes_are_an_alarm() -> None:
    def about(free_inodes: int | None) -> str:
        room = Room(free_bytes=10**9, free_inodes=free_inodes, checkpoint_bytes=100)
        return "".join(alarms(room=room))

    assert about(None) == about(4) == ""
    assert about(2) == (
        "disk almost full: 1.00 GB free, but 2 files (free inodes), room for 1 more checkpoint"
    )
    assert "0 files (free inodes), room for no checkpoint more" in about(0)


def test_a_checkpoint_is_overdue_beyond_one_and_a_half_cadences() -> None:
    assert alarms(progress=replace(PROGRESS, step=350)) == ()
    assert alarms(progress=replace(PROGRESS, step=351)) == (
        "checkpoint overdue: none since step 200, and one is due every 100 steps",
    )
    none = replace(PROGRESS, newest_checkpoint_step=0, step=151)
    assert alarms(progress=none)[0].startswith("checkpoint overdue: none yet, and")


def test_a_state_file_that_stays_behind_the_history_is_an_alarm() -> None:
    assert alarms(progress=replace(PROGRESS, state_behind_seconds=30)) == ()
    (alarm,) = alarms(progress=replace(PROGRESS, state_behind_seconds=200))
    assert alarm.startswith(".state.json can't be written: it is 3 min older than the newest step")
    slow = replace(PROGRESS, state_behind_seconds=200, step_seconds=70)
    assert alarms(progress=slow) == ()


def test_files_that_were_skipped_are_named_with_their_reason() -> None:
    skipped = [Skipped(path=Path(f"step_{i:06d}.bin"), reason="too short") for i in (1, 2)]
    assert alarms(skipped=skipped) == (
        "not taken for a checkpoint: step_000002.bin: too short (and 1 more)",
    )

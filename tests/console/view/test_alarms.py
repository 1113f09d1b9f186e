"""What wants attention."""

from pathlib import Path
from typing import Any

from console.view.alarms import alarms_of
from console.view.run_view import Audit, LossPoint
from trainer.rundir.checkpoints.checkpoint import Skipped
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.state import Save, State

SETTINGS = parse_settings('preset = "demo"')


def alarms(**facts: Any) -> tuple[str, ...]:
    nothing: dict[str, Any] = {
        "state": None,
        "settings": SETTINGS,
        "last": None,
        "audits": (),
        "free_bytes": None,
        "checkpoint_bytes": None,
        "skipped": (),
    }
    return alarms_of(**{**nothing, **facts})


def audits(*scores: float | None, first_step: int = 200) -> tuple[Audit, ...]:
    return tuple(
        Audit(step=first_step + 100 * i, checkpoint="", score=score)
        for i, score in enumerate(scores)
    )


def test_a_healthy_run_has_none() -> None:
    state = State(last_save=Save(ok=True))
    facts = {"state": state, "audits": audits(60), "free_bytes": 10**12, "checkpoint_bytes": 10**9}
    assert alarms(**facts) == ()


def test_the_trainers_own_alarms_come_first_and_once() -> None:
    failed = Save(step=100, ok=False, error="disk full")
    assert alarms(state=State(alarms=("not saved",), last_save=failed)) == ("not saved",)
    assert alarms(state=State(last_save=failed)) == ("checkpoint of step 100 not saved: disk full",)


def test_the_gate_is_announced_before_it_falls() -> None:
    assert alarms(audits=audits(60, 10)) == ()
    (alarm,) = alarms(audits=audits(60, 10, None, 20))
    assert alarm.startswith("coherence gate: 2 of 5 audits in a row under 30")
    assert alarms(audits=audits(10, 20, 60)) == ()


def test_audits_of_the_warm_up_dont_count_for_the_gate() -> None:
    assert alarms(audits=audits(10, 10, 10, first_step=-100)) == ()


def test_a_loss_that_is_no_number_is_an_alarm() -> None:
    last = LossPoint(step=7, loss=None, ema=None, nonfinite="NaN")
    assert alarms(last=last) == ("the loss is NaN at step 7",)


def test_room_for_few_checkpoints_is_an_alarm() -> None:
    assert alarms(free_bytes=300, checkpoint_bytes=100) == ()
    assert "room for 2 more checkpoints" in alarms(free_bytes=299, checkpoint_bytes=100)[0]
    assert "room for 1 more checkpoint" in alarms(free_bytes=199, checkpoint_bytes=100)[0]
    assert "no checkpoint more" in alarms(free_bytes=99, checkpoint_bytes=100)[0]


def test_files_that_were_skipped_are_named_with_their_reason() -> None:
    skipped = [Skipped(path=Path(f"step_{i:06d}.bin"), reason="too short") for i in (1, 2)]
    assert alarms(skipped=skipped) == (
        "not taken for a checkpoint: step_000002.bin: too short (and 1 more)",
    )

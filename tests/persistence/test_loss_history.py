import math
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.rundir.faulty_os import files_in, recorded_os
from trainer.persistence.loss_history import EMA_DECAY, LossHistory
from trainer.rundir.checkpoints.checkpoint import Checkpoint, checkpoint_name
from trainer.rundir.config.rules import RULES, Rules
from trainer.rundir.outcomes import HistoryError
from trainer.rundir.records.record_file import canonical


def _loss(step: int) -> float:
    """Float32 values without a pattern, as a training gives."""
    return float(orjson.loads(orjson.dumps(10 / math.sqrt(step + 0.1))))


def _train(history: LossHistory, first: int, last: int, *, nudge: float = 0.0) -> list[bool | None]:
    """Record steps as the loop does."""
    proven = []
    for step in range(first, last + 1):
        loss = _loss(step) + nudge
        record = {
            "step": step,
            "attempt": history.attempt,
            "loss": loss,
            "ema": history.next_ema(loss),
            "grad_norm": loss / 3,
        }
        proven.append(history.record(record))
    return proven


def _trained(path: Path, last: int, rules: Rules = RULES[1]) -> None:
    history = LossHistory(path, 0, rules=rules)
    _train(history, 1, last)
    history.close()


def _written(path: Path) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = orjson.loads(path.read_bytes())
    return records


def checkpoint_of(path: Path, step: int) -> Checkpoint:
    return Checkpoint(step=step, path=path.parent / checkpoint_name(step), n_bytes=20, modified=0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".loss.json"


def test_a_new_run_begins_its_ema_at_the_first_loss(path: Path) -> None:
    history = LossHistory(path, 0)
    assert (history.attempt, history.ema, list(history.past())) == (1, None, [])
    assert _train(history, 1, 2) == [None, None]
    assert history.ema == EMA_DECAY * _loss(1) + (1 - EMA_DECAY) * _loss(2)
    history.close()


def test_the_past_is_given_once_up_to_the_step(path: Path) -> None:
    _trained(path, 5)
    history = LossHistory(path, 3)
    assert [record.step for record in history.past()] == [1, 2, 3]
    assert list(history.past()) == []
    assert history.attempt == 2
    history.close()


def test_ema_of_rules_2_is_the_mean_of_all_losses_each_step_back_counting_for_less(
    path: Path,
) -> None:
    history = LossHistory(path, 0, rules=RULES[2])
    _train(history, 1, 300)
    for record in _written(path):
        steps = range(1, record["step"] + 1)
        weights = [EMA_DECAY ** (record["step"] - step) for step in steps]
        total = math.fsum(w * _loss(step) for w, step in zip(weights, steps, strict=True))
        assert record["ema"] == pytest.approx(total / math.fsum(weights), rel=1e-12)


def test_first_loss_of_rules_2_is_soon_forgotten(path: Path) -> None:
    """An EMA that begins at the first loss is a worse curve for hundreds of steps."""

    def ema_after(rules: Rules, losses: list[float]) -> float:
        history = LossHistory(path.with_name(f"{rules.corrects_ema}.json"), 0, rules=rules)
        for step, loss in enumerate(losses, start=1):
            ema = history.next_ema(loss)
            history.record({"step": step, "loss": loss, "ema": ema, "grad_norm": 1.0})
        return ema

    fallen = [6.0] + [3.0] * 50
    assert ema_after(RULES[1], fallen) > 4.0
    assert ema_after(RULES[2], fallen) < 3.1


@pytest.mark.parametrize("rules", RULES.values())
def test_the_ema_goes_on_bit_for_bit_after_a_resume(path: Path, rules: Rules) -> None:
    straight = path.with_name("straight.json")
    _trained(straight, 200, rules)
    for step in range(0, 200, 20):
        history = LossHistory(path, step, rules=rules)
        _train(history, step + 1, step + 20)
        history.close()
    emas = [[record["ema"] for record in _written(each)] for each in (straight, path)]
    assert emas[0] == emas[1]


def test_a_replay_that_equals_the_file_is_proven_and_writes_nothing(path: Path) -> None:
    _trained(path, 8)
    before = path.read_bytes()
    history = LossHistory(path, 5)
    assert _train(history, 6, 8) == [True] * 3
    assert path.read_bytes() == before
    replay = history.replay
    assert (replay.first_step, replay.last_step, replay.proven, replay.differing) == (6, 8, 3, 0)
    assert _train(history, 9, 9) == [None]
    assert [record["step"] for record in _written(path)] == list(range(1, 10))
    history.close()


def test_a_replay_that_differs_is_appended_with_its_attempt(path: Path) -> None:
    _trained(path, 8)
    history = LossHistory(path, 6)
    assert _train(history, 7, 8, nudge=2**-20) == [False, False]
    assert (history.replay.proven, history.replay.differing) == (0, 2)
    history.close()
    assert [record["step"] for record in _written(path)] == [1, 2, 3, 4, 5, 6, 7, 8, 7, 8]
    taken = canonical(_written(path))
    assert list(taken) == list(range(1, 9))
    assert [taken[step]["attempt"] for step in (6, 7, 8)] == [1, 2, 2]


@pytest.mark.parametrize("key", ["loss", "grad_norm"])
def test_either_value_makes_a_replay_differ(path: Path, key: str) -> None:
    _trained(path, 2)
    history = LossHistory(path, 1)
    record = {**_written(path)[1], "attempt": 2}
    record[key] = math.nextafter(record[key], math.inf)
    assert history.record(record) is False
    history.close()


def test_a_step_that_is_not_finite_again_is_proven(path: Path) -> None:
    record = {"step": 1, "attempt": 1, "loss": math.nan, "ema": None, "grad_norm": math.inf}
    history = LossHistory(path, 0)
    history.record(record)
    history.close()
    assert _written(path)[0]["nonfinite"] == {"loss": "NaN", "grad_norm": "Infinity"}
    history = LossHistory(path, 0)
    assert history.record({**record, "attempt": 2}) is True
    history.close()
    history = LossHistory(path, 0)
    assert history.record({**record, "loss": 1.0, "ema": 1.0}) is False
    history.close()


def test_a_torn_tail_is_repaired_and_trained_again(path: Path) -> None:
    _trained(path, 4)
    path.write_bytes(path.read_bytes()[:-9])
    history = LossHistory(path, 2)
    assert history.repair
    assert history.repair.kept_as.exists()
    assert _train(history, 3, 4) == [True, None]
    history.close()
    assert [record["step"] for record in _written(path)] == [1, 2, 3, 4]


def test_a_checkpoint_that_outlives_its_history_is_refused_and_nothing_is_changed(
    path: Path,
) -> None:
    _trained(path, 4)
    torn = path.read_bytes()[:-9]
    path.write_bytes(torn)
    with pytest.raises(HistoryError, match=r"of step 6, but .* record of step 4 \(3 missing\)"):
        LossHistory(path, 6)
    assert files_in(path.parent) == {".loss.json": torn}


def test_a_gap_in_the_history_is_refused(path: Path) -> None:
    _trained(path, 4)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    three = [checkpoint_of(path, step) for step in (1, 2, 4)]
    with pytest.raises(HistoryError, match=r"no record of step 2 \(1 missing\)") as refusal:
        LossHistory(path, 4, checkpoints=three)
    assert "go on from step_000001.bin" in str(refusal.value)
    assert "mv step_000002.bin step_000004.bin after_step_000001/" in str(refusal.value)


def test_a_lost_history_is_refused_without_making_a_new_one(path: Path) -> None:
    with pytest.raises(HistoryError, match=r"from a backup\. Without one, .* --give-up-history`"):
        LossHistory(path, 1, checkpoints=[checkpoint_of(path, 1)])
    assert files_in(path.parent) == {}


def test_records_without_room_wait_and_are_counted(path: Path) -> None:
    history = LossHistory(path, 0)
    _train(history, 1, 1)
    for step in (2, 3):
        with recorded_os(0), pytest.raises(OSError, match="Input/output"):
            _train(history, step, step)
    assert history.n_pending == 2
    history.flush()
    assert history.n_pending == 0
    history.sync()
    history.close()
    straight = path.with_name("straight.json")
    _trained(straight, 3)
    assert path.read_bytes() == straight.read_bytes()

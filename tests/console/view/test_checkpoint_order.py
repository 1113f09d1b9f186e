"""Sorting and filtering checkpoints."""

import pytest

from console.view.checkpoint_order import Order, is_of, is_typed, kinds_of, ordered
from console.view.run_view import Audit, CheckpointRow


def row(
    step: int, *, score: float | None = None, n_bytes: int = 8, **more: object
) -> CheckpointRow:
    name = f"step_{step:06d}.bin"
    loss = None if score is None else 1 / score
    audit = Audit(step=step, checkpoint=name, score=score, val_loss=loss) if step != 1 else None
    row = CheckpointRow(step=step, name=name, n_bytes=n_bytes, modified=0.0, audit=audit)
    for field, value in more.items():
        object.__setattr__(row, field, value)
    return row


ROWS = (
    row(1),
    row(61_200, score=75.0, note="before the spike", stays="pinned"),
    row(61_300, score=30.0, cause="signal", goes=True, n_bytes=16),
    row(120_000, score=75.0, cause="cadence", stays="the best val_loss"),
    row(130_000, score=float("nan"), cause="cadence", goes=True),
)


@pytest.mark.parametrize(
    ("order", "steps"),
    [
        (Order.STEP, [130_000, 120_000, 61_300, 61_200, 1]),
        (Order.SCORE, [120_000, 61_200, 61_300, 130_000, 1]),
        (Order.VAL_LOSS, [120_000, 61_200, 61_300, 130_000, 1]),
        (Order.SIZE, [61_300, 130_000, 120_000, 61_200, 1]),
    ],
)
def test_the_best_comes_first_the_unknown_last_and_of_equals_the_newer_first(
    order: Order, steps: list[int]
) -> None:
    assert [row.step for row in ordered(ROWS, order)] == steps


def test_the_kinds_offered_are_those_that_there_are() -> None:
    kinds = ["", "marked", "pinned", "goes", "stays", "cause cadence", "cause signal"]
    assert kinds_of(ROWS, {1}) == kinds
    assert kinds_of(ROWS[:1], ()) == [""]
    assert kinds_of((), ()) == []


def test_a_kind_holds_what_it_says() -> None:
    found = {
        kind: [row.step for row in ROWS if is_of(row, kind, {1})] for kind in kinds_of(ROWS, {1})
    }
    assert found == {
        "": [1, 61_200, 61_300, 120_000, 130_000],
        "marked": [1],
        "pinned": [61_200],
        "goes": [61_300, 130_000],
        "stays": [61_200, 120_000],
        "cause cadence": [120_000, 130_000],
        "cause signal": [61_300],
    }


@pytest.mark.parametrize(
    ("typed", "steps"),
    [
        ("61", [61_200, 61_300]),
        ("61,2", [61_200]),
        ("61300-120000", [61_300, 120_000]),
        ("-61,200", [1, 61_200]),
        ("120000..", [120_000, 130_000]),
        ("Spike", [61_200]),
        ("pin", [61_200]),
        ("best", [120_000]),
        ("sig", [61_300]),
        ("9" * 400, []),
        ("9" * 15 + "-", []),
        ("²", []),
        ("-", []),
    ],
)
def test_what_is_typed_means_steps_a_range_or_a_word(typed: str, steps: list[int]) -> None:
    assert [row.step for row in ROWS if is_typed(row, typed)] == steps

"""The gate: five low audits in a row, after the warm-up, and no other way."""

from typing import Any

from trainer.proxy.gate import judge
from trainer.rundir.config.settings import AuditSettings


def _samples(*scores: float | None, first_step: int = 200) -> list[dict[str, Any]]:
    return [
        {"step": first_step + 100 * number, "score": score} for number, score in enumerate(scores)
    ]


def _halts(samples: list[dict[str, Any]], **settings: float) -> bool:
    made = AuditSettings(
        threshold=settings.get("threshold", 30.0), patience=int(settings.get("patience", 5))
    )
    return judge(samples, settings=made, warmup_steps=100).should_halt


def test_five_in_a_row_under_the_threshold_halt_and_four_do_not() -> None:
    assert _halts(_samples(80, 29.9, 5, 5, 5, 5))
    assert not _halts(_samples(80, 5, 5, 5, 5))


def test_one_audit_at_the_threshold_starts_the_count_again() -> None:
    assert not _halts(_samples(5, 5, 5, 5, 30, 5, 5, 5, 5))


def test_row_must_be_the_newest() -> None:
    assert not _halts(_samples(5, 5, 5, 5, 5, 40))


def test_audits_up_to_the_end_of_warm_up_do_not_count() -> None:
    verdict = judge(
        _samples(5, 5, 5, 5, 5, first_step=100), settings=AuditSettings(), warmup_steps=100
    )
    assert (verdict.low_in_a_row, verdict.last_step, verdict.should_halt) == (4, 500, False)


def test_audit_repeated_after_a_crash_counts_once_and_its_last_record() -> None:
    low = _samples(5, 5, 5, 5)
    assert not _halts([*low, low[-1], low[-1]])
    assert _halts([*low, {"step": 600, "score": 90}, {"step": 600, "score": 3}])


def test_records_count_in_the_order_of_their_steps() -> None:
    assert not _halts(list(reversed(_samples(5, 5, 5, 5, 5, 90))))


def test_audit_without_a_score_neither_counts_nor_clears() -> None:
    assert _halts(_samples(5, 5, None, 5, 5, 5))
    others: list[dict[str, Any]] = [{"step": 250}, {"step": 350, "score": "90"}, {"score": 90}]
    assert _halts([*_samples(5, 5, 5, 5, 5), *others])


def test_patience_0_turns_the_gate_off() -> None:
    assert not _halts(_samples(*[1.0] * 50), patience=0)


def test_no_audit_yet_is_no_reason_to_halt() -> None:
    verdict = judge([], settings=AuditSettings(), warmup_steps=0)
    assert (verdict.low_in_a_row, verdict.last_step, verdict.should_halt) == (0, None, False)

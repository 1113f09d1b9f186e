"""What is known of the sources at a step, and the bandit as it stood then."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from console.view.arm_counts import BLOCK, counted
from console.view.loss_history import History
from console.view.run_view import Audit
from console.view.sources import (
    SourceFacts,
    SourceRow,
    arms_at,
    left_out_words,
    losses_on_tests,
    sources_at,
)
from trainer.proxy.bandit import Bandit
from trainer.proxy.batches import rows_given
from trainer.rundir.config.policy import preview_policy
from trainer.rundir.config.run_toml import parse_settings, render_new_run
from trainer.rundir.config.settings import ArmPolicy, Settings, SourceSettings
from trainer.rundir.records.loss_record import LossRecord
from trainer.rundir.sources.prepared import TokenIndex

ARMS = ("books", "docs", "wiki")
CONTEXT = 128
PIVOT = 600
N_RECORDS = 1_000


def settings_with(*sources: str, **policy: ArmPolicy) -> Settings:
    made = parse_settings(
        render_new_run("demo", {name: SourceSettings(path="*.txt") for name in sources})
    )
    return replace(made, policy=policy)


FIRST = settings_with(*ARMS)
SECOND = settings_with(
    "docs", "wiki", "chat", docs=ArmPolicy(floor=0.7, cap=0.9), chat=ArmPolicy(cap=0.2)
)


def records_of(count: int = N_RECORDS) -> list[LossRecord]:
    """Two phases; chat came and books went with the second."""
    chance = random.Random(5)
    phases = {1: ARMS, 2: ("docs", "wiki", "chat")}
    return [
        LossRecord(
            step=step,
            attempt=1,
            phase=phase,
            arm=chance.choice(phases[phase]),
            loss=None if step % 97 == 0 else 3 + chance.random(),
            ema=3.0,
            reward=chance.random(),
            tokens=1_000,
        )
        for step in range(1, count + 1)
        for phase in [1 if step <= PIVOT else 2]
    ]


def facts_of(records: Sequence[LossRecord]) -> SourceFacts:
    history = History()
    history.add(records)
    counts = counted(history.series.view(), CONTEXT)
    return SourceFacts(counts=counts, settings={1: FIRST, 2: SECOND})


def by_name(rows: Sequence[SourceRow]) -> dict[str, SourceRow]:
    return {row.name: row for row in rows}


def trainers_bandit(records: Sequence[LossRecord], step: int) -> Bandit:
    phase, settings = (1, FIRST) if step <= PIVOT else (2, SECOND)
    policy = {name: settings.bounds_of(name) for name in settings.sources}
    bandit = Bandit(seed=1, phase=phase, available=list(settings.sources), policy=policy)
    bandit.fold(records[:step])
    return bandit


@pytest.mark.parametrize("step", [1, 2, 90, PIVOT, PIVOT + 1, PIVOT + 30, N_RECORDS])
def test_bandit_at_a_step_is_the_one_that_the_trainer_folds_from_the_history(step: int) -> None:
    records = records_of()
    wanted = trainers_bandit(records, step).arms()
    found = {arm.name: arm.state for arm in arms_at(facts_of(records), step)}
    assert found.keys() == wanted.keys()
    for name, state in wanted.items():
        assert found[name].pulls == state.pulls
        assert (found[name].floor, found[name].cap) == (state.floor, state.cap)
        for one, other in (
            (found[name].weight, state.weight),
            (found[name].probability, state.probability),
            (found[name].ema_reward, state.ema_reward),
        ):
            assert one == (None if other is None else pytest.approx(other, rel=1e-6))


@pytest.mark.parametrize("step", [1, 90, PIVOT + 30, N_RECORDS])
def test_rows_given_are_those_that_the_trainer_goes_on_from(step: int) -> None:
    records = records_of()
    wanted = rows_given(records[:step], context=CONTEXT)
    found = by_name(sources_at(facts_of(records), step))
    assert {name: row.given_rows for name, row in found.items() if row.given_rows} == wanted


def test_loss_of_a_source_is_the_average_of_its_last_batches_across_a_pivot() -> None:
    records = records_of()
    average = None
    for record in records[: PIVOT + 5]:
        if record.arm == "wiki" and record.loss is not None:
            average = record.loss if average is None else average + (record.loss - average) / 50
    found = by_name(sources_at(facts_of(records), PIVOT + 5))
    assert found["wiki"].loss == pytest.approx(average, rel=1e-8)


def test_wanted_share_is_what_the_review_of_the_pivot_told() -> None:
    records = records_of()
    told = preview_policy(SECOND, trainers_bandit(records, PIVOT).arms())
    found = by_name(sources_at(facts_of(records), None))
    for name in SECOND.sources:
        assert found[name].wanted == pytest.approx(told[name].learned, rel=1e-6)
    assert found["books"].wanted is None
    assert by_name(sources_at(facts_of(records), PIVOT))["docs"].wanted is None


def test_share_counts_from_the_pivot_on_and_shares_over_the_whole_run() -> None:
    records = records_of()
    found = by_name(sources_at(facts_of(records), None))
    of_phase = [record.arm for record in records[PIVOT:]]
    assert found["docs"].share == of_phase.count("docs") / len(of_phase)
    assert found["books"].share == 0.0
    assert found["chat"].shares[0] == 0.0
    assert found["books"].shares[-1] == 0.0
    assert sum(row.shares[0] for row in found.values()) == pytest.approx(1.0)


def test_passes_and_rows_left_follow_from_the_prepared_tokens() -> None:
    size = TokenIndex(
        stamp="",
        tokenizer="",
        dtype="<u2",
        fingerprint="",
        documents=1,
        held_out_documents=0,
        train_tokens=10 * CONTEXT + 1,
        held_out_tokens=0,
    )
    facts = replace(facts_of(records_of(9)), sizes={"docs": size})
    row = by_name(sources_at(facts, None))["docs"]
    assert (row.tokens, row.rows) == (10 * CONTEXT + 1, 10)
    assert row.given_rows is not None
    assert row.passes == row.given_rows / 10
    assert row.rows_left == 10 - row.given_rows % 10
    assert by_name(sources_at(facts, None))["wiki"].passes is None


def test_val_loss_is_that_of_the_newest_audit_up_to_the_step() -> None:
    audits = tuple(
        Audit(step=step, checkpoint="", val_losses=(("docs", step / 100),))
        for step in (100, 200, 300)
    )
    facts = replace(facts_of(records_of()), audits=(*audits, Audit(step=400, checkpoint="")))
    assert by_name(sources_at(facts, 250))["docs"].val_loss == 2.0
    assert by_name(sources_at(facts, None))["docs"].val_loss == 3.0
    assert by_name(sources_at(facts, 99))["docs"].val_loss is None


def test_a_source_that_came_later_is_not_among_those_of_an_earlier_step() -> None:
    names = by_name(sources_at(facts_of(records_of()), 50))
    assert set(names) == set(ARMS)


def test_source_that_is_gone_has_no_part_in_the_bandits_sum() -> None:
    facts = replace(facts_of(records_of()), gone=frozenset({"wiki"}))
    found = {arm.name: arm.state for arm in arms_at(facts, N_RECORDS)}
    assert not found["wiki"].available
    assert found["wiki"].probability is None
    assert sum(state.probability or 0 for state in found.values()) == pytest.approx(1.0)


def test_of_another_trainer_the_counts_are_told_and_no_weight() -> None:
    facts = replace(facts_of(records_of()), has_own_bandit=False)
    states = [arm.state for arm in arms_at(facts, N_RECORDS)]
    assert all(state.weight is None and state.probability is None for state in states)
    assert sum(state.pulls for state in states) == N_RECORDS - PIVOT
    assert all(row.wanted is None for row in sources_at(facts, None))


def test_records_that_tell_nothing_but_their_loss_have_no_sources() -> None:
    history = History()
    history.add([LossRecord(step=step, loss=2.0) for step in range(1, 5)])
    facts = SourceFacts(counts=counted(history.series.view(), None), has_own_bandit=False)
    assert sources_at(facts, None) == ()
    assert arms_at(facts, 3) == ()
    assert sources_at(SourceFacts(), None) == ()


def test_arms_without_tokens_have_unknown_sizes_and_known_shares() -> None:
    history = History()
    history.add([LossRecord(step=step, loss=2.0, arm="x") for step in range(1, 5)])
    facts = SourceFacts(counts=counted(history.series.view(), None), has_own_bandit=False)
    (row,) = sources_at(facts, None)
    assert row.share == 1.0
    assert (row.tokens, row.given_tokens, row.given_rows, row.passes) == (None, None, None, None)


def test_counts_that_go_on_are_those_from_scratch() -> None:
    records = records_of(3 * BLOCK + 5)
    history, grown = History(), counted(History().series.view(), CONTEXT)
    for at in range(0, len(records), 1_999):
        history.add(records[at : at + 1_999])
        grown = counted(history.series.view(), CONTEXT, grown)
    whole = counted(history.series.view(), CONTEXT)
    assert (grown.table == whole.table).all()
    for n_records in (0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 7, len(records)):
        given = grown.given(n_records)
        wanted = rows_given(records[:n_records], context=CONTEXT)
        found = dict(zip(grown.series.arms, given.rows.tolist(), strict=True))
        assert {name: rows for name, rows in found.items() if rows} == wanted


def test_a_replayed_step_of_another_arm_is_counted_anew() -> None:
    records = records_of(2 * BLOCK)
    history = History()
    history.add(records)
    before = counted(history.series.view(), CONTEXT)
    other = "docs" if records[9].arm != "docs" else "wiki"
    history.add([LossRecord(step=10, attempt=2, phase=1, arm=other, loss=1.0, tokens=1_000)])
    after = counted(history.series.view(), CONTEXT, before)
    code = after.series.arms.index(other)
    assert after.given(2 * BLOCK).pulls[code] == before.given(2 * BLOCK).pulls[code] + 1


def test_copies_what_is_set_aside_and_what_a_test_set_has_are_told_in_words() -> None:
    size = TokenIndex(
        stamp="",
        tokenizer="",
        dtype="<u2",
        fingerprint="",
        documents=9,
        held_out_documents=0,
        train_tokens=100,
        held_out_tokens=0,
    )
    assert left_out_words(size) == ""
    size = replace(size, duplicates=1_204, set_aside_tokens=3_100_000, apart_pieces=12)
    words = "1.2k copies kept, 3.1M tokens set aside, 12 passages of test sets out"
    assert left_out_words(size) == words
    dropped = replace(size, drops_duplicates=True, set_aside_tokens=0)
    assert "copies out, 12" in left_out_words(dropped)
    of_tokens = replace(size, duplicates=1, set_aside_tokens=0, apart_pieces=0, apart="0")
    assert left_out_words(of_tokens) == "1 copy kept, not searched for test sets"


def test_the_loss_on_test_sets_is_that_of_the_newest_audit_by_then() -> None:
    audits = tuple(
        Audit(step=step, checkpoint="", text="", prompt="", test_losses=(("quiz", loss),))
        for step, loss in ((10, 3.0), (20, 2.0))
    )
    facts = SourceFacts(audits=audits)
    assert [losses_on_tests(facts, step) for step in (5, 15, None)] == [
        (),
        (("quiz", 3.0),),
        (("quiz", 2.0),),
    ]

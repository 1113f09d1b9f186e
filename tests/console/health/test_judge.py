"""The verdict over whole records: what is ill and what only looks so."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from console import formatting
from console.health.evidence import Evidence, first_steps
from console.health.judge import Judge, judge
from tests.console.health.records import (
    ARMS,
    AUDIT,
    LEVELS,
    STEP,
    N,
    after,
    assert_first,
    first,
    learning,
    run,
    told,
)


@pytest.mark.parametrize("seed", range(5))
def test_run_that_learns_is_healthy(seed: int) -> None:
    found = judge(run(seed=seed))
    assert (found.verdict, found.headline) == ("healthy", "healthy")


def test_divergence_of_all_arms_is_told_once_and_dated() -> None:
    since, learned = 5000, np.minimum(STEP, 5000)
    rises = after(since, 0.6, 600)
    found = judge(run(rises=rises, held_rises=rises, learned=learned))
    assert_first(found, "loss", since)
    assert not [reason for reason in found.reasons if reason.kind == "source"]


def test_what_began_before_a_pivot_is_not_forgotten_at_it() -> None:
    since, pivot = 4000, 6000
    moves = after(pivot, -0.4)
    rises = after(since, 0.6, 400) + moves
    evidence = run(rises=rises, held_rises=rises, learned=np.minimum(STEP, since), pivots=(pivot,))
    assert_first(judge(evidence), "loss", since)


def test_levels_that_a_pivot_moves_are_healthy() -> None:
    moves = {index: after(5000, height) for index, height in enumerate((0.5, 0.3, -0.4, 0.2))}
    evidence = run(by_arm=moves, held_rises=after(5000, 0.15), pivots=(5001,))
    assert judge(evidence).verdict == "healthy"
    assert judge(replace(evidence, pivots=())).verdict == "ill"  # so that there is what to see


def test_pivots_close_together_are_healthy() -> None:
    heights = enumerate((0.5, 0.4, -0.4, 0.6))
    moves = {index: after(5000, height) + after(5090, 0.3) for index, height in heights}
    evidence = run(by_arm=moves, held_rises=after(5000, 0.2), pivots=(5001, 5091))
    assert judge(evidence).verdict == "healthy"


def test_shares_that_drift_over_unlike_arms_are_healthy() -> None:
    chance = np.random.default_rng(3)
    is_hard = chance.random(N) < STEP / N
    arm = np.where(is_hard, 3, chance.integers(0, 2, N))
    evidence = run(arm=arm)
    level = [float(evidence.loss[part].mean()) for part in (slice(3000, 4000), slice(7000, 8000))]
    assert level[1] > level[0] + 0.3
    assert judge(evidence).verdict == "healthy"


def test_source_that_turned_bad_is_named_and_dated() -> None:
    found = judge(run(by_arm={2: after(5200, 0.8)}))
    assert_first(found, "loss of web", 5200)
    assert not [reason for reason in found.reasons if reason.kind == "divergence"]


def test_arm_that_is_seldom_drawn_beside_a_pivot_is_healthy() -> None:
    chance = np.random.default_rng(5)
    arm = np.where(chance.random(N) < 0.01, 3, chance.integers(0, 3, N))
    moves = {index: after(6000, height) for index, height in enumerate((0.2, -0.2, 0.1, 0.9))}
    assert judge(run(arm=arm, by_arm=moves, pivots=(6001,))).verdict == "healthy"


def test_arms_that_learn_at_unlike_speeds_are_healthy() -> None:
    slower = 3.0 * (1 + STEP / 50) ** -0.2 - 3.0 * (1 + STEP / 50) ** -0.4
    assert judge(run(by_arm={1: slower})).verdict == "healthy"


def test_rise_of_val_loss_that_learning_hides_shows_in_the_gap() -> None:
    since = 2500
    evidence = run(held_learned=np.minimum(STEP, since))
    late = evidence.val_loss[since < AUDIT]
    assert late.max() - late.min() < 0.1
    assert_first(judge(evidence), "train–val gap", since, 0.05)


def test_memorising_is_told_as_such() -> None:
    rises = after(4000, -0.5, 3000)
    held = np.minimum(STEP, 4000)
    evidence = run(rises=rises, held_learned=held, held_rises=after(4000, 0.3, 3000))
    found = judge(evidence)
    assert_first(found, "train–val gap", 4000, 0.05)
    assert found.reasons[0].kind == "memorising"


def test_source_that_is_memorised_is_named_and_dated_where_the_run_is_healthy_with_it() -> None:
    since, name = 4_000, ARMS[2]
    run_of = run(by_arm={2: -after(since, 0.25, 2_000)})
    held = {**run_of.val_losses, name: run_of.val_losses[name] + 0.3 * (since < AUDIT)}
    health = judge(replace(run_of, val_losses=held))
    assert set(health.memorised) == {name}
    assert abs(health.memorised[name].since_step - since) < 0.05 * N
    assert f"train–val gap of {name}" in health.memorised[name].text
    assert health.verdict == "healthy"


def test_no_source_is_memorised_where_all_learn_or_where_one_turned_bad() -> None:
    assert judge(run()).memorised == {}
    assert judge(run(by_arm={1: after(5_000, 0.8)})).memorised == {}


def test_val_loss_of_one_source_that_rises_is_named() -> None:
    evidence = run()
    risen = {
        **evidence.val_losses,
        "code": evidence.val_losses["code"] + after(4000, 0.4)[AUDIT - 1],
    }
    found = judge(replace(evidence, val_losses=risen))
    assert_first(found, "val_loss of code", 4000)


def test_score_that_decays_is_told_in_points_and_dated() -> None:
    found = judge(run(score_falls=after(4800, 38, 3000)))
    assert_first(found, "score", 4800, 0.05)
    assert found.reasons[0].text.startswith("audit score 7")
    about = formatting.about_steps(found.reasons[0].since_step)
    assert f"since step ~{about}: audit score" in found.headline


def test_noise_of_an_untrained_model_that_scores_high_is_no_past() -> None:
    evidence = run()
    high = evidence.score + 85 * np.exp(-AUDIT / 150)
    assert high[0] > evidence.score.max() + 10
    assert judge(replace(evidence, score=high)).verdict == "healthy"


def test_cause_is_told_before_what_follows_from_it() -> None:
    since = 5000
    rises = after(since, 0.8, 800)
    evidence = run(
        rises=rises,
        held_rises=rises,
        learned=np.minimum(STEP, since),
        score_falls=after(since, 30, 400),
    )
    kinds = [reason.kind for reason in judge(evidence).reasons]
    assert kinds[0] == "divergence"
    assert {"val_loss", "score"} <= set(kinds)


def test_score_that_fell_long_before_the_loss_rose_is_told_first() -> None:
    rises = after(6800, 0.8, 400)
    evidence = run(rises=rises, held_rises=rises, score_falls=after(2500, 30, 500))
    assert [kind for kind, _ in told(evidence)][:2] == ["score", "divergence"]


def test_nothing_learned_is_ill_from_the_first_step() -> None:
    still = np.zeros(N)
    found = judge(run(learned=still))
    assert_first(found, "loss", 1)
    assert found.reasons[0].kind == "nothing learned"


def test_weights_that_stand_still_are_told_and_dated() -> None:
    found = judge(run(learned=np.minimum(STEP, 2200)))
    assert_first(found, "loss", 2200)
    assert found.reasons[0].kind == "plateau"


def test_loss_that_comes_to_rest_is_healthy() -> None:
    resting = 7.2 * np.exp(-((STEP / 40) ** 0.42)) - learning()
    assert judge(run(rises=resting, held_rises=resting)).verdict == "healthy"


def test_spike_at_the_end_is_told_from_its_first_step() -> None:
    found = judge(run(rises=after(N - 15, 1.5)))
    assert_first(found, "loss", N - 14, 0.0005)
    assert found.reasons[0].kind == "spike"
    assert next(line for line in found.lines if line.series == "loss").since_step is not None


def test_lone_spikes_that_recover_are_healthy() -> None:
    rises = np.zeros(N)
    for at in (500, 3000, 6000, N - 40):
        rises[at : at + 6] += 3 * np.exp(-np.arange(6) / 3)
    assert judge(run(rises=rises)).verdict == "healthy"


def test_slow_card_is_told_in_seconds_and_dated() -> None:
    found = judge(run(ms=run().ms * (1 + after(6000, 0.45))))
    assert_first(found, "step time", 6000)
    assert found.reasons[0].text == "step time 1.00 s → 1.45 s"


def test_days_nights_slow_hours_and_starts_are_healthy() -> None:
    ms = run().ms * (1 + 0.07 * np.sin(STEP / 120))
    ms[3000:3300] *= 1.6
    starts = (1, 1500, 4000, N - 20)
    for start in starts:
        ms[start - 1 : start + 8] *= 12
    assert judge(run(ms=ms, restarts=starts)).verdict == "healthy"


def test_gradients_that_are_all_clipped_where_few_were_are_ill() -> None:
    found = judge(run(grad_norm=run().grad_norm * (1 + after(5000, 6))))
    assert_first(found, "clipping", 5000)


def test_young_run_that_comes_to_clip_all_while_it_learns_fast_is_healthy() -> None:
    norm = run().grad_norm * (1 + after(400, 6))
    loss = run().loss + 3.0 * np.exp(-STEP / 600)
    young = STEP <= 1500
    evidence = run(loss=loss, grad_norm=norm)
    columns = ("step", "loss", "grad_norm", "ms", "tokens", "arm")
    cut = {name: getattr(evidence, name)[young] for name in columns}
    found = judge(replace(evidence, **cut))
    assert "clipping" not in [reason.series for reason in found.reasons]


def test_run_that_clips_from_its_start_is_healthy() -> None:
    assert judge(run(grad_norm=run().grad_norm * 8)).verdict == "healthy"


def test_gradient_norm_that_grows_slowly_is_healthy() -> None:
    assert judge(run(grad_norm=run().grad_norm * (1 + STEP / N))).verdict == "healthy"


def test_clipping_without_a_known_limit_is_not_judged() -> None:
    evidence = run(grad_norm=run().grad_norm * (1 + after(5000, 6)), max_grad_norm=None)
    found = judge(evidence)
    assert found.verdict == "healthy"
    assert "clipping" not in [line.series for line in found.lines]


def test_few_records_have_no_verdict() -> None:
    found = judge(first(run(), 150))
    assert (found.verdict, found.reasons) == ("unknown", ())
    assert found.headline == "unknown: 150 of 200 records"


def test_few_audits_have_no_verdict() -> None:
    found = judge(first(run(), 7 * 40 + 10))
    assert found.headline == "unknown: 7 of 8 audits"


def test_record_without_audits_is_unknown_and_still_ill_by_its_loss() -> None:
    nothing = np.empty(0)
    without = {"audit_step": np.empty(0, np.int64), "score": nothing, "val_loss": nothing}

    def alone(evidence: Evidence) -> Evidence:
        return replace(evidence, **without, val_losses={})  # type: ignore[arg-type]

    assert judge(alone(run())).headline == "unknown: 0 of 8 audits"
    assert judge(alone(run(rises=after(6000, 1.0)))).verdict == "ill"


def test_no_records_are_unknown() -> None:
    assert judge(Evidence(step=np.empty(0, np.int64), loss=np.empty(0))).verdict == "unknown"


def test_losses_that_are_all_unknown_have_no_verdict() -> None:
    assert judge(run(loss=np.full(N, np.nan))).headline == "unknown: 0 of 200 records"


def test_record_that_is_unknown_for_most_of_the_run_is_judged_by_the_rest() -> None:
    loss = run().loss
    loss[16:5000] = np.nan
    assert judge(run(loss=loss)).verdict == "healthy"


def test_record_of_one_arm_is_judged() -> None:
    one = np.zeros(N, np.int64)
    assert judge(run(arm=one)).verdict == "healthy"
    evidence = run(arm=one, rises=after(5000, 0.6), learned=np.minimum(STEP, 5000))
    assert_first(judge(evidence), "loss", 5000)


def test_foreign_record_of_losses_alone_is_judged_by_them() -> None:
    loss = learning() + LEVELS[0] + np.random.default_rng(1).normal(0, 0.1, N)
    evidence = Evidence(step=np.arange(1, N + 1), loss=loss + after(6000, 0.7))
    assert_first(judge(evidence), "loss", 6000)
    assert [line.series for line in judge(evidence).lines] == ["loss"]


def test_every_known_series_has_a_line_against_its_own_past() -> None:
    lines = {line.series: line for line in judge(run()).lines}
    assert {"loss", "loss of books", "val_loss", "val_loss of wiki", "train–val gap"} <= set(lines)
    assert {"score", "grad_norm", "clipping", "step time", "tokens/s"} <= set(lines)
    assert lines["step time"].text == "1.00 s, usually 1.00 s"
    assert all(line.since_step is None for line in lines.values())


def test_verdict_goes_to_json() -> None:
    told_json = judge(run(score_falls=after(4800, 38, 3000))).as_json()
    assert told_json["verdict"] == "ill"
    assert {"series", "since_step", "text", "certainty"} <= set(told_json["reasons"][0])


def test_first_steps_pass_over_what_is_unknown() -> None:
    code = np.array([-1, 1, 1, -1, 1, 2, 2, -1, 3])
    assert first_steps(np.arange(10, 19), code) == (15, 18)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_verdict_on_a_growing_record_is_the_one_from_scratch(data: st.DataObject) -> None:
    whole = run(
        by_arm={1: after(2500, 0.9)}, ms=run().ms * (1 + after(3000, 0.5)), restarts=(1, 700, 2600)
    )
    lengths = sorted(data.draw(st.lists(st.integers(1, 4000), min_size=1, max_size=6)))
    judging = Judge()
    for n in lengths:
        grown = first(whole, n)
        assert judging.judge(grown) == judge(grown)


@settings(max_examples=10, deadline=None)
@given(st.integers(300, 3900), st.integers(0, 3999))
def test_replayed_step_replaces_its_record(n: int, replayed: int) -> None:
    whole = first(run(), 4000)
    judging = Judge()
    judging.judge(first(whole, n))
    loss = whole.loss.copy()
    loss[replayed:] += 1.0
    anew = replace(whole, loss=loss)
    assert judging.judge(anew) == judge(anew)


def test_record_that_got_shorter_is_judged_anew() -> None:
    judging, whole = Judge(), run(by_arm={1: after(5000, 0.9)})
    judging.judge(whole)
    assert judging.judge(first(whole, 4000)) == judge(first(whole, 4000))


ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_judge_never_raises(data: st.DataObject) -> None:
    n, n_audits = data.draw(st.integers(0, 700)), data.draw(st.integers(0, 40))
    steps = np.cumsum(data.draw(arrays(np.int64, n, elements=st.integers(1, 1000))))
    pivots = data.draw(st.lists(st.integers(0, 10**6), max_size=5))
    evidence = Evidence(
        step=steps,
        loss=data.draw(arrays(np.float64, n, elements=ANY)),
        grad_norm=data.draw(arrays(np.float64, n, elements=ANY)),
        ms=data.draw(arrays(np.float64, n, elements=ANY)),
        tokens=data.draw(arrays(np.float64, n, elements=ANY)),
        arm=data.draw(arrays(np.int32, n, elements=st.integers(-1, 3))),
        arms=ARMS,
        pivots=tuple(sorted(pivots)),
        restarts=tuple(sorted(pivots)),
        max_grad_norm=data.draw(st.none() | ANY),
        audit_step=np.cumsum(data.draw(arrays(np.int64, n_audits, elements=st.integers(1, 9999)))),
        score=data.draw(arrays(np.float64, n_audits, elements=ANY)),
        val_loss=data.draw(arrays(np.float64, n_audits, elements=ANY)),
        val_losses={"books": data.draw(arrays(np.float64, n_audits, elements=ANY))},
    )
    assert judge(evidence).verdict in ("healthy", "ill", "unknown")


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_judge_never_raises_on_a_long_record_with_anything_in_it(data: st.DataObject) -> None:
    evidence = run()
    columns = {
        name: getattr(evidence, name).copy() for name in ("loss", "grad_norm", "ms", "tokens")
    }
    columns |= {name: getattr(evidence, name).copy() for name in ("score", "val_loss")}
    for _ in range(data.draw(st.integers(1, 4))):
        column = columns[data.draw(st.sampled_from(sorted(columns)))]
        start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(column))] * 2)))
        column[start:stop] = data.draw(ANY)
    pivots = tuple(sorted(data.draw(st.lists(st.integers(0, N + 9), max_size=4))))
    arm = np.where(data.draw(st.integers(0, N)) > STEP, evidence.arm, data.draw(st.integers(-1, 3)))
    found = judge(replace(evidence, **columns, pivots=pivots, restarts=pivots, arm=arm))
    assert all(1 <= reason.since_step <= N for reason in found.reasons)
    assert [line.series for line in found.lines]

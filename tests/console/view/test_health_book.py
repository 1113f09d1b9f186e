"""A run's health as it grows: judged in time, dated, and alarms that don't come and go."""

import numpy as np
import pytest

from console.chart.series import Series
from console.health.evidence import Evidence
from console.health.verdict import Health, Reason
from console.view import health_book
from console.view.health_book import HealthBook
from console.view.run_view import Audit, Mark, MarkKind
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory

BEGAN = 1_780_000_000.0


class ScriptedJudge:
    """Remembers what it was given; says what it is told to."""

    def __init__(self) -> None:
        self.given: list[Evidence] = []
        self.says = Health(verdict="healthy")

    def judge(self, evidence: Evidence) -> Health:
        self.given.append(evidence)
        return self.says


class Watched:
    """A run that grows before a book whose clock is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.series = Series()
        self.audits: tuple[Audit, ...] = ()
        self.marks: tuple[Mark, ...] = ()
        self.settings: Settings | None = None
        self.judge = ScriptedJudge()
        self.book = HealthBook()

    def grows(self, n: int, *, phase: int = 1, attempt: int = 1) -> None:
        step = np.arange(len(self.series) + 1, len(self.series) + n + 1)
        known = {"phase": np.full(n, phase), "attempt": np.full(n, attempt)}
        self.series.append_many(step, step * 0.1, step * 0.1, t=BEGAN + 10.0 * step, **known)

    def looks(self, seconds_later: float = 60.0) -> Health:
        self.now += seconds_later
        self.book.look(self.now, self.series.view(), self.audits, self.settings, self.marks)
        return self.book.health


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    made = Watched()
    monkeypatch.setattr(health_book, "Judge", lambda: made.judge)
    made.book = HealthBook()
    return made


def reason(series: str, since: int, now: float = 37.0) -> Reason:
    return Reason(
        kind="score",
        series=series,
        since_step=since,
        past=75.0,
        now=now,
        text=f"{series} 75 → {now:.0f}",
        sigmas=12.0,
    )


def ill(*reasons: Reason) -> Health:
    return Health(verdict="ill", reasons=reasons)


def topics(book: HealthBook) -> list[str]:
    return [alarm.partition(": ")[0] for alarm in book.alarms]


def test_it_judges_at_most_every_few_seconds_and_only_what_has_changed(watched: Watched) -> None:
    watched.grows(10)
    watched.looks()
    assert watched.book.is_judged
    watched.looks()
    assert len(watched.judge.given) == 1
    watched.grows(1)
    watched.looks()
    assert len(watched.judge.given) == 2
    watched.grows(1)
    watched.looks(4.9)
    assert len(watched.judge.given) == 2
    watched.looks(0.2)  # what came in between is not forgotten
    assert len(watched.judge.given[-1]) == 12


def test_the_judge_is_given_what_history_audits_settings_and_forks_tell(
    watched: Watched, run: RunDirectory
) -> None:
    watched.grows(10)
    watched.grows(10, phase=2, attempt=2)
    watched.audits = (
        Audit(step=5, checkpoint="a", score=60.0, val_losses=(("wiki", 3.0),)),
        Audit(step=9, checkpoint="b", val_loss=2.5, val_losses=(("wiki", 2.9), ("books", 2.0))),
    )
    watched.marks = (
        Mark(step=4, kind=MarkKind.SETTINGS),
        Mark(step=11, kind=MarkKind.PHASE),
        Mark(step=11, kind=MarkKind.RESTART),
    )
    watched.settings = load_settings(run.settings)
    watched.looks()
    (given,) = watched.judge.given
    assert (given.pivots, given.restarts) == ((4, 11), (11,))
    assert given.max_grad_norm == watched.settings.optimizer.max_grad_norm
    assert given.audit_step.tolist() == [5, 9]
    assert given.score.tolist()[:1] == [60.0]
    assert np.isnan(given.score[1])
    assert np.isnan(given.val_loss[0])
    assert given.val_losses["wiki"].tolist() == [3.0, 2.9]
    assert np.isnan(given.val_losses["books"][0])


def test_reasons_are_dated_by_the_record_of_their_step(watched: Watched) -> None:
    watched.grows(10)
    watched.judge.says = ill(reason("score", 4), reason("loss", 99))
    found = watched.looks().reasons
    assert [each.since_t for each in found] == [BEGAN + 40.0, None]


def test_an_alarm_keeps_its_topic_while_numbers_and_steps_move(watched: Watched) -> None:
    watched.grows(1000)
    watched.judge.says = ill(reason("loss of a: b", 500))
    watched.looks()
    assert watched.book.alarms == {"loss of a b: loss of a: b 75 → 37 since step ~500": 500}
    watched.grows(100)
    watched.judge.says = ill(reason("loss of a: b", 520, now=35.0))
    watched.looks()
    assert watched.book.alarms == {"loss of a b: loss of a: b 75 → 35 since step ~520": 520}


def test_a_series_that_went_wrong_in_two_ways_is_one_alarm(watched: Watched) -> None:
    watched.grows(1000)
    watched.judge.says = ill(reason("loss", 500), reason("loss", 700), reason("score", 600))
    watched.looks()
    assert topics(watched.book) == ["loss", "score"]


def test_an_alarm_lasts_while_a_number_at_the_threshold_flickers_and_ends_with_the_ill(
    watched: Watched,
) -> None:
    watched.grows(10_000)
    for _ in range(5):
        watched.judge.says = ill(reason("score", 5000))
        watched.grows(40)
        watched.looks()
        watched.judge.says = Health(verdict="healthy")
        watched.grows(40)
        assert watched.looks().verdict == "healthy"
        assert topics(watched.book) == ["score"]
    watched.grows(120)
    watched.looks()
    assert topics(watched.book) == []


def test_a_history_made_anew_has_no_alarm_of_the_one_before(watched: Watched) -> None:
    watched.grows(1000)
    watched.judge.says = ill(reason("score", 500))
    watched.looks()
    watched.series = Series()
    watched.grows(900)
    watched.judge.says = Health(verdict="healthy")
    watched.looks()
    assert not watched.book.alarms


def test_a_run_without_a_record_is_judged_and_unknown() -> None:
    book = HealthBook()
    book.look(0.0, Series().view(), (), None, ())
    assert book.is_judged
    assert (book.health.verdict, book.alarms) == ("unknown", {})

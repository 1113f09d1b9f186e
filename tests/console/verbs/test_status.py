"""A run's state for scripts."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from console.chart.series import Series
from console.cli import main
from console.health.verdict import Health, Reason
from console.verbs.status import as_json, as_text, exit_code_of, machine_json, sources_json
from console.view.arm_counts import counted
from console.view.disk_forecast import Room
from console.view.machine import Machine
from console.view.run_view import Audit, CheckpointRow, LossPoint, RunView, Severity, Status
from console.view.sources import SourceFacts
from tests.console.conftest import Start
from tests.console.fixed_run import fixed_machine
from tests.console.judged_run import BEGAN, FALLS_FROM, write_healthy, write_ill
from trainer.rundir.layout import RunDirectory
from trainer.rundir.preparing import Preparing
from trainer.rundir.sources.prepared import TokenIndex
from trainer.rundir.state import ENDED, RankState, Replay, State

TRAINING = Status(word="training")
VIEW = RunView(
    name="v3",
    path=Path("runs/v3"),
    status=TRAINING,
    is_running=True,
    pid=7,
    step=112_700,
    total_steps=200_000,
    last=LossPoint(step=112_700, loss=2.5, ema=2.6),
    steps_per_minute=6.0,
    eta_seconds=873_000.0,
    checkpoints=(
        CheckpointRow(
            step=112_700,
            name="step_112700.bin",
            n_bytes=1_441_529_864,
            modified=0.0,
            audit=Audit(step=112_700, checkpoint="step_112700.bin", score=61.3, val_loss=2.7),
        ),
    ),
    checkpoint_bytes=1_441_529_864,
    room=Room(free_bytes=300_000_000_000),
)
HEALTHY = Health(verdict="healthy")
DECAY = Reason(
    kind="score",
    series="score",
    since_step=104_260,
    past=75.2,
    now=37.1,
    text="audit score 75 → 37",
    sigmas=21.0,
    since_t=1000.0,
)
ILL = Health(verdict="ill", reasons=(DECAY,))
NEW = RunView(name="new", path=Path("new"), status=Status(word="not running"), is_running=False)


def test_json_has_the_contracts_keys_and_nothing_else() -> None:
    assert as_json(VIEW) == {
        "run": "v3",
        "state": "training",
        "pid": 7,
        "step": 112_700,
        "total_steps": 200_000,
        "loss": 2.5,
        "ema": 2.6,
        "steps_per_minute": 6.0,
        "eta_seconds": 873_000.0,
        "phase": 1,
        "checkpoints": {
            "count": 1,
            "bytes": 1_441_529_864,
            "newest": {
                "step": 112_700,
                "file": "step_112700.bin",
                "bytes": 1_441_529_864,
                "score": 61.3,
                "val_loss": 2.7,
            },
        },
        "preparing": None,
        "ranks": [],
        "disk": {"free_bytes": 300_000_000_000, "full_in_seconds": None},
        "alarms": [],
        "health": {"verdict": "unknown", "reasons": [], "why_unknown": "not judged yet"},
    }


def test_json_tells_how_far_the_sources_are_prepared() -> None:
    preparing = Preparing(source="web", files_done=1, files=3, bytes_done=10, bytes=40)
    view = replace(VIEW, state=State(preparing=preparing))
    assert as_json(view)["preparing"] == {
        "source": "web",
        "files_done": 1,
        "files": 3,
        "bytes_done": 10,
        "bytes": 40,
        "bytes_per_second": None,
        "seconds_left": None,
    }


def test_json_tells_of_each_rank_and_how_one_was_lost() -> None:
    lost = RankState(rank=1, host="b", pid=8, device="H100", step=3, lost_since=9.0, lost="gone")
    view = replace(VIEW, state=State(ranks=(RankState(host="a", pid=7, device="H100"), lost)))
    here, there = as_json(view)["ranks"]
    assert (here["rank"], here["host"], here["lost_since"], here["lost"]) == (0, "a", None, None)
    assert there == {
        "rank": 1,
        "host": "b",
        "pid": 8,
        "device": "H100",
        "step": 3,
        "waited_ms": 0.0,
        "lost_since": 9.0,
        "lost": "gone",
    }


def test_json_tells_of_each_source_what_the_screen_does() -> None:
    size = TokenIndex(
        stamp="",
        tokenizer="",
        dtype="<u2",
        fingerprint="",
        documents=1,
        held_out_documents=0,
        train_tokens=1_281,
        held_out_tokens=0,
        duplicates=3,
        set_aside_tokens=9,
        apart_pieces=2,
        apart_documents=1,
        apart_bytes=300,
    )
    series = Series()
    arm = series.codes_of(["docs"] * 3)
    series.append_many([1, 2, 3], [2.0] * 3, [2.0] * 3, arm=arm, phase=[1] * 3, tokens=[512] * 3)
    facts = SourceFacts(counts=counted(series.view(), 128), sizes={"docs": size})
    gap = Reason(
        kind="memorising", series="", since_step=2, past=0.1, now=0.4, text="gap", sigmas=9.0
    )
    view = replace(VIEW, health=Health(verdict="healthy", memorised={"docs": gap}))
    assert sources_json(view, facts) == [
        {
            "name": "docs",
            "tokens": 1_281,
            "rows": 10,
            "given_tokens": 1_536,
            "given_rows": 12,
            "passes": 1.2,
            "rows_left": 8,
            "loss": pytest.approx(2.0),
            "val_loss": None,
            "share": 1.0,
            "wanted_share": None,
            "duplicates": 3,
            "set_aside_tokens": 9,
            "test_set_passages": 2,
            "test_set_documents": 1,
            "test_set_bytes": 300,
            "memorised": "since step ~2: gap",
        }
    ]
    assert sources_json(VIEW, SourceFacts()) == []


@pytest.mark.parametrize("word", sorted(ENDED))
def test_json_tells_ends_apart_that_have_one_exit_code(word: str) -> None:
    assert as_json(replace(NEW, status=Status(word=word)))["state"] == word


def test_what_is_unknown_is_null() -> None:
    told = as_json(NEW)
    assert told["checkpoints"] == {"count": 0, "bytes": 0, "newest": None}
    assert told["loss"] is told["eta_seconds"] is told["pid"] is None
    orjson.dumps(told)


def test_text_says_the_same_and_can_not_steer_the_terminal() -> None:
    newest = "newest checkpoint: step_112700.bin, 1.44 GB, score 61.3, val_loss 2.7000"
    odd = replace(VIEW, alarms=("\x1b[2Jnot saved\nreally",))
    assert as_text(odd, 0.0).splitlines() == [
        "v3: training (pid 7)",
        "? health unknown: not judged yet",
        "step 112,700 of 200,000 (56.4 %), phase 1, 6.0/min, 10 d 2 h to go",
        "loss 2.5000, EMA 2.6000",
        f"{newest}; 1 in all, 1.44 GB",
        "disk: 300 GB free",
        "ALARM: \\x1b[2Jnot saved\\x0areally",
    ]
    assert "no checkpoint yet" in as_text(NEW, 0.0)


def test_the_health_is_in_json_and_text_and_an_alarm_that_it_raised_is_told_once() -> None:
    alarms = ("score: since step ~104,000: audit score 75 → 37", "disk almost full: 1 GB")
    view = replace(VIEW, health=ILL, alarms=alarms, judged_alarms={alarms[0]: 104_260})
    told = as_json(view)
    assert told["alarms"] == list(alarms)
    assert told["health"] == {
        "verdict": "ill",
        "reasons": [
            {
                "kind": "score",
                "series": "score",
                "since_step": 104_260,
                "since_t": 1000.0,
                "text": "audit score 75 → 37",
                "certainty": "certain",
            }
        ],
        "why_unknown": None,
    }
    lines = as_text(view, 1000.0 + 9 * 86_400).splitlines()
    assert lines[1] == "✖ since step ~104,000 (9 d 0 h): audit score 75 → 37"
    assert [line for line in lines if "ALARM" in line] == ["ALARM: disk almost full: 1 GB"]


def test_healthy_says_of_what_where_something_else_is_wrong() -> None:
    well = replace(VIEW, health=HEALTHY)
    assert as_text(well, 0.0).splitlines()[1] == "✓ healthy"
    for wrong in (
        replace(well, alarms=("disk almost full",)),
        replace(well, status=Status(word="stalled", severity=Severity.ATTENTION)),
    ):
        assert as_text(wrong, 0.0).splitlines()[1] == "✓ healthy by its record"


def test_text_explains_a_step_before_the_historys_end() -> None:
    told = State(replay=Replay(first_step=112_601, last_step=112_750, proven=100))
    behind = replace(VIEW, state=told)
    assert "(56.4 %), phase 1, proving again up to 112,750, 6.0/min" in as_text(behind, 0.0)
    ended = replace(behind, is_running=False)
    assert "phase 1, recorded up to 112,750, to be proven again" in as_text(ended, 0.0)


@pytest.mark.parametrize(
    ("view", "code"),
    [
        (VIEW, 0),
        (replace(VIEW, status=Status(word="saving", severity=Severity.BUSY)), 0),
        (replace(VIEW, alarms=("disk almost full",)), 1),
        (replace(VIEW, status=Status(word="stalled", severity=Severity.ATTENTION)), 1),
        (replace(NEW, status=Status(word="failed", severity=Severity.BAD)), 1),
        (replace(NEW, status=Status(word="stopped", severity=Severity.ENDED)), 3),
        (replace(NEW, status=Status(word="held", severity=Severity.ATTENTION)), 3),
        (NEW, 3),
        (replace(VIEW, health=HEALTHY), 0),
        (replace(VIEW, health=ILL), 1),
        (replace(NEW, status=Status(word="stopped", severity=Severity.ENDED), health=ILL), 1),
    ],
)
def test_exit_codes(view: RunView, code: int) -> None:
    assert exit_code_of(view) == code


def test_json_spells_out_what_is_no_utf8_in_the_runs_name() -> None:
    document = as_json(replace(VIEW, name="\udcff"))
    assert orjson.loads(orjson.dumps(document))["run"] == "\\xff"


def test_the_machine_in_json_has_one_sample_of_everything() -> None:
    told = machine_json(fixed_machine())
    orjson.dumps(told)
    (gpu,) = told["gpus"]
    assert (gpu["utilisation"], gpu["celsius"], gpu["is_trainers"]) == (0.98, 71, True)
    assert gpu["memory"]["used_bytes"] == 62_100_000_000
    assert (gpu["slowed_by"], gpu["xid"], gpu["fault"]) == ([], None, None)
    assert told["trainer"]["peak_rss_bytes"] == 4_120_000_000
    assert told["disk"] == {"free_bytes": 612_000_000_000, "free_inodes": 31_200_000}
    assert (told["cpu"], told["gpus_unknown"]) == (0.12, None)


def test_what_is_unknown_of_the_machine_is_null() -> None:
    told = machine_json(Machine(trainer_host="gpu7"))
    assert told == {
        "trainer_host": "gpu7",
        "gpus": [],
        "gpus_unknown": None,
        "cpu": None,
        "ram": {"used_bytes": None, "total_bytes": None},
        "trainer": None,
        "disk": {"free_bytes": None, "free_inodes": None},
    }


def test_status_measures_the_machine_under_a_living_trainer(
    run: RunDirectory, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = start()
    main(["status", "--json", str(run.path)])
    told = orjson.loads(capsys.readouterr().out)
    machine = told["machine"]
    assert told["pid"] == trainer.pid
    assert machine["trainer"]["rss_bytes"] > 0
    assert machine["ram"]["used_bytes"] > 0
    assert bool(machine["gpus"]) != bool(machine["gpus_unknown"])


def test_a_record_on_disk_that_is_ill_is_told_with_its_step_and_by_the_exit_code(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    write_ill(run)
    assert main(["status", "--json", str(run.path)]) == 1
    told = orjson.loads(capsys.readouterr().out)
    assert told["state"] == "not running"
    assert told["health"]["verdict"] == "ill"
    (reason,) = told["health"]["reasons"]
    assert reason["series"] == "score"
    assert reason["since_step"] == pytest.approx(FALLS_FROM, abs=400)
    assert reason["since_t"] == BEGAN + 10 * reason["since_step"]
    (alarm,) = told["alarms"]
    assert alarm.startswith("score: audit score 7")
    assert main(["status", str(run.path)]) == 1
    assert "✖ since step ~4," in capsys.readouterr().out


def test_a_record_on_disk_that_is_healthy_is_told_to_be(
    run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    write_healthy(run)
    assert main(["status", "--json", str(run.path)]) == 3
    told = orjson.loads(capsys.readouterr().out)
    assert (told["health"]["verdict"], told["alarms"]) == ("healthy", [])


def test_text_tells_warnings_and_they_make_no_run_ill() -> None:
    warned = replace(VIEW, warnings=("seen more than 4 times: stdlib-docs 1,177×",))
    assert f"warning: {warned.warnings[0]}" in as_text(warned, 0.0)
    assert exit_code_of(warned) == exit_code_of(VIEW)

"""Which checkpoints are a run's own, and that nothing else is ever thinned or counted."""

import struct
import tempfile
from collections.abc import Iterable
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.rundir.checkpoints.checkpoint import checkpoint_name, list_checkpoints
from trainer.rundir.checkpoints.coverage import (
    coverage_of,
    own_checkpoints,
    require_history,
    what_history_lost,
)
from trainer.rundir.checkpoints.thinning import plan_of, still_going, thin
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.config.settings import CheckpointSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError

SETTINGS = parse_settings(
    "[model]\nvocab_size = 300\ncontext = 4\nlayers = 1\nheads = 1\nwidth = 4\n"
    "[train]\nbatch_tokens = 32\n[checkpoint]\nkeep_last = 1\nkeep_every = 1000000\n"
)
N_PARAMS = SETTINGS.model.n_params


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path)


def put(run: RunDirectory, steps: Iterable[int]) -> None:
    for step in steps:
        body = struct.pack("<ii", step, N_PARAMS) + bytes(12 * N_PARAMS)
        (run.path / checkpoint_name(step)).write_bytes(body)


def array(steps: Iterable[int], **fields: object) -> bytes:
    lines = [orjson.dumps({"step": step, **fields}) for step in steps]
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def own_steps(run: RunDirectory) -> list[int]:
    return [found.step for found in own_checkpoints(run, N_PARAMS).checkpoints]


@pytest.mark.parametrize(
    ("history", "last", "why"),
    [
        (array(range(1, 301)), 300, "the history ends at step 300"),
        (array(range(301)), 300, "the history ends at step 300"),
        (array(range(1, 301))[:-9], 299, "the history ends at step 299"),
        (array(range(1, 301)) + bytes(1 << 17), 300, "the history ends at step 300"),
        (array([*range(1, 301), *range(201, 251)]), 250, "the history ends at step 250"),
        (array(range(50, 301)), 0, "the history begins at step 50"),
        (None, 0, "there is no .loss.json"),
        (b"", 0, ".loss.json holds no history"),
        (b"[\n]\n", 0, ".loss.json holds no history"),
        (b"{}", 0, ".loss.json holds no history"),
        (b"[1,2,3]", 0, ".loss.json holds no history"),
        (b"[\n" + b'{"step":1,"loss":1e400}\n]\n', 0, ".loss.json holds no history"),
        (array(range(1, 301)).replace(b"[", b"").replace(b",\n", b"\n"), 0, "holds no history"),
        (b"\xef\xbb\xbf" + array(range(1, 301)), 0, ".loss.json holds no history"),
        (b'[\n{"step":true}\n]\n', 0, ".loss.json holds no history"),
    ],
)
def test_history_covers_as_many_steps_as_its_two_ends_tell(
    history: bytes | None, last: int, why: str, run: RunDirectory
) -> None:
    if history is not None:
        run.loss.write_bytes(history)
    coverage = coverage_of(run, N_PARAMS)
    assert coverage.last_step == last
    assert coverage.why.endswith(why)


def test_history_that_cant_be_read_covers_nothing_and_says_why(run: RunDirectory) -> None:
    run.loss.mkdir()
    why = coverage_of(run, N_PARAMS).why
    assert why == ".loss.json can't be read: is a folder, not a file; move it away"


def test_foreign_trainer_without_a_history_is_taken_at_its_word(run: RunDirectory) -> None:
    put(run, [100, 5000])
    assert [c.step for c in own_checkpoints(run, None).checkpoints] == [100, 5000]
    run.loss.write_bytes(array(range(1, 301)))
    assert [c.step for c in own_checkpoints(run, None).checkpoints] == [100]


def test_file_beyond_the_history_is_skipped_with_its_reason_until_the_history_is_there(
    run: RunDirectory,
) -> None:
    put(run, [100, 300, 5000])
    run.loss.write_bytes(array(range(1, 301)))
    found = own_checkpoints(run, N_PARAMS)
    assert found.newest is not None
    assert found.newest.step == 300
    assert [(s.path.name, s.reason) for s in found.skipped] == [
        ("step_005000.bin", "the history ends at step 300")
    ]
    run.loss.write_bytes(array(range(1, 5001)))
    assert own_steps(run) == [100, 300, 5000]


def test_long_history_is_not_read_through(run: RunDirectory) -> None:
    """A hole of 64 GB between its two records: reading it would take a minute."""
    with run.loss.open("wb") as file:
        file.write(b'[\n{"step":1},\n')
        file.seek(64 << 30)
        file.write(b'\n{"step":200000}\n]\n')
    assert coverage_of(run, N_PARAMS).last_step == 200_000


def test_checkpoints_that_were_audited_and_are_beyond_the_history_mean_that_it_was_lost(
    run: RunDirectory,
) -> None:
    put(run, [100, 200, 5000])
    run.loss.write_bytes(array(range(1, 151)))
    require_history(run, own_checkpoints(run, N_PARAMS))
    run.samples.write_bytes(array([200], checkpoint="step_000200.bin"))
    with pytest.raises(HistoryError, match="ends at step 150, but there is a checkpoint of step 2"):
        require_history(run, own_checkpoints(run, N_PARAMS))


def test_audit_of_an_archived_phase_counts_as_well(run: RunDirectory) -> None:
    put(run, [100, 200])
    run.loss.write_bytes(array(range(1, 151)))
    folder = run.phase_archive(1)
    folder.mkdir(parents=True)
    (folder / run.samples.name).write_bytes(array([200], checkpoint="step_000200.bin"))
    lost = what_history_lost(run, own_checkpoints(run, N_PARAMS))
    assert lost.startswith("the history ends at step 150, but there is a checkpoint of step 200")
    assert "mv step_000200.bin after_step_000100/" in lost


def test_run_without_history_and_checkpoints_lost_none(run: RunDirectory) -> None:
    require_history(run, own_checkpoints(run, N_PARAMS))


def test_file_that_the_trainer_has_just_written_is_its_newest(run: RunDirectory) -> None:
    """Beside it a stray file of a step that the history has come to meanwhile."""
    put(run, [200, 300, 305])
    run.loss.write_bytes(array(range(1, 307)))
    run.samples.write_bytes(array([200], val_loss=1.0))
    plan = plan_of(run, SETTINGS, [], written=300)
    assert dict(plan.kept) == {200: "the best val_loss", 300: "the newest"}
    assert plan.going == ()


def test_newest_with_an_audit_stays_beside_a_stray_file_that_is_covered(run: RunDirectory) -> None:
    put(run, [100, 200, 300, 305])
    run.loss.write_bytes(array(range(1, 307)))
    run.samples.write_bytes(array([100, 200, 300]))
    plan = plan_of(run, SETTINGS, [])
    assert dict(plan.kept) == {300: "the newest with an audit", 305: "the newest"}


def test_checkpoint_that_became_the_newest_since_the_preview_stays(run: RunDirectory) -> None:
    put(run, [100, 200, 300])
    run.loss.write_bytes(array(range(1, 301)))
    plan = plan_of(run, SETTINGS, [])
    assert [checkpoint.step for checkpoint in plan.going] == [100, 200]
    (run.path / checkpoint_name(300)).unlink()
    left = still_going(run, plan, own_checkpoints(run, N_PARAMS))
    assert [checkpoint.step for checkpoint in left] == [100]


def test_milestones_are_of_the_runs_own_only(run: RunDirectory) -> None:
    put(run, [500, 600, 700, 1000])
    run.loss.write_bytes(array(range(1, 701)))
    keep = CheckpointSettings(keep_last=1, keep_every=500)
    plan = plan_of(run, SETTINGS, [], keep=keep)
    assert dict(plan.kept) == {500: "a multiple of 500", 700: "the newest"}
    assert [skip.path.name for skip in plan.skipped] == ["step_001000.bin"]


steps = st.sets(st.integers(1, 60), max_size=8)


@settings(max_examples=60, deadline=None)
@given(own=steps, stray=steps, last=st.integers(0, 60), keep_last=st.integers(0, 3), audits=steps)
def test_whatever_lies_there_thinning_touches_neither_the_newest_covered_nor_what_is_beyond(
    own: set[int], stray: set[int], last: int, keep_last: int, audits: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = RunDirectory(Path(folder))
        put(run, own | stray)
        (run.path / "step_000007.bin.old").touch()
        run.loss.write_bytes(array(range(1, last + 1)))
        (run.path / "step_000000.bin").write_bytes(b"damaged")
        run.samples.write_bytes(array(sorted(audits), val_loss=1.0))
        here = own | stray
        beyond, covered = {s for s in here if s > last}, {s for s in here if s <= last}
        refuses = bool(here) and not covered
        left = _left(run, CheckpointSettings(keep_last=keep_last, keep_every=50), refuses)
        assert beyond | ({max(covered)} if covered else set()) <= left
        assert len(left & covered) >= min(len(covered), keep_last or len(covered))
        assert (run.path / "step_000007.bin.old").exists()


def _left(run: RunDirectory, keep: CheckpointSettings, refuses: bool) -> set[int]:
    if refuses:
        with pytest.raises(HistoryError, match="covers no checkpoint, so all stay"):
            plan_of(run, SETTINGS, [], keep=keep)
    else:
        thin(run, plan_of(run, SETTINGS, [], keep=keep))
    return {found.step for found in list_checkpoints(run.path, None).checkpoints}

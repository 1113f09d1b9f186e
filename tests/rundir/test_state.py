import os
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rundir.faulty_os import recorded_os
from trainer.rundir.memory import Memory
from trainer.rundir.state import (
    DOING,
    ENDED,
    ArmState,
    Replay,
    Save,
    State,
    Zombie,
    read_state,
    tolerant,
    write_state,
)

FULL = State(
    doing="training",
    detail="step 7 of “demo”",
    takes_signals=True,
    pid=123,
    t=1.5e9,
    step=7,
    total_steps=10,
    attempt=2,
    phase=3,
    phase_start_step=4,
    arms={"docs": ArmState(pulls=2, ema_reward=0.25, cap=1.0), "a.b c": ArmState(available=False)},
    zombies=(Zombie(arm="gone", pulls=3, weight=0.5, reason="no such file"),),
    replay=Replay(first_step=5, last_step=9, proven=2, differing=1),
    last_save=Save(step=6, cause="signal", ok=True, bytes=68, seconds=0.25, t=1.5e9, requests=1),
    memory=Memory(peak_bytes=7, total_bytes=8, boot_id="b", oom_kills={"/proc/vmstat": 1}),
    alarms=("disk full",),
    notes=("tail repaired", "text changed"),
    exit_code=143,
    reason="stopped",
    settings={"train.lr": 3e-4, "trainer.command": ["a"]},
    environment={"torch": "2", "threads": 2},
)

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*State.__dataclass_fields__, "pulls", "x"]), inner)
    ),
    max_leaves=12,
)


def test_what_is_read_back_equals_what_was_written(tmp_path: Path) -> None:
    for state in (State(), FULL):
        write_state(tmp_path / ".state.json", state)
        assert read_state(tmp_path / ".state.json") == state


def test_writing_replaces_the_file_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / ".state.json"
    with recorded_os() as calls:
        write_state(path, FULL)
    partial = f".state.json.{os.getpid()}.partial"
    assert [call for call in calls if "replace" in call] == [f"replace {partial}"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_value_that_is_not_finite_is_unknown_to_the_reader(tmp_path: Path) -> None:
    path = tmp_path / ".state.json"
    write_state(path, State(arms={"docs": ArmState(ema_loss=float("nan"))}))
    read = read_state(path)
    assert read
    assert read.arms["docs"].ema_loss is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"3", b"\xff", b"{}x", b"[" * 5000])
def test_no_object_is_no_state(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "s").write_bytes(data)
    assert read_state(tmp_path / "s") is None


def test_an_absent_file_or_a_folder_is_no_state(tmp_path: Path) -> None:
    assert read_state(tmp_path / "absent") is None
    assert read_state(tmp_path) is None


def test_unknown_keys_are_ignored_and_wrong_types_are_unknown(tmp_path: Path) -> None:
    written: dict[str, Any] = {
        "doing": "training",
        "step": "7",
        "pid": True,
        "takes_signals": 1,
        "t": 5,
        "attempt": 2.0,
        "later_idea": {"x": 1},
        "arms": {"docs": {"pulls": 3, "weight": "much", "new": 1}, "bad": 3},
        "zombies": [{"arm": "gone"}, 5],
        "alarms": ["one", 2],
        "notes": "text",
        "replay": [],
        "last_save": None,
        "exit_code": "0",
    }
    (tmp_path / "s").write_bytes(orjson.dumps(written))
    assert read_state(tmp_path / "s") == State(
        doing="training",
        t=5,
        arms={"docs": ArmState(pulls=3)},
        zombies=(Zombie(arm="gone"),),
        alarms=("one",),
    )


@given(written=_JSON)
def test_any_json_is_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, written: object
) -> None:
    path = tmp_path_factory.getbasetemp() / "state"
    path.write_bytes(orjson.dumps(written))
    assert isinstance(read_state(path), State) == isinstance(written, dict)


@settings(max_examples=50)
@given(changes=st.dictionaries(st.sampled_from(list(State.__dataclass_fields__)), _JSON))
def test_each_field_has_its_type_whatever_was_written(changes: dict[str, object]) -> None:
    state = tolerant(State, changes)
    assert type(state.step) is type(state.exit_code or 0) is int
    assert isinstance(state.doing, str)
    assert isinstance(state.takes_signals, bool)
    assert isinstance(state.t, int | float)
    assert all(isinstance(arm, ArmState) for arm in state.arms.values())
    assert all(isinstance(zombie, Zombie) for zombie in state.zombies)
    assert all(isinstance(alarm, str) for alarm in state.alarms)
    assert isinstance(state.replay, Replay | None)
    assert isinstance(state.last_save, Save | None)


def test_the_ends_are_things_a_trainer_can_be_doing() -> None:
    assert set(DOING) > ENDED

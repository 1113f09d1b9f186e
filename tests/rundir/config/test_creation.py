import subprocess
import sys
from pathlib import Path

import pytest

from tests.rundir.faulty_os import FOLDER, each_fault, files_in, recorded_os
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.presets import DEFAULT_SOURCES
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.outcomes import SettingsError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    folder = tmp_path / "text [1]"
    folder.mkdir()
    for name in ("one.txt", "two.txt"):
        (folder / name).write_text("Once upon a time.")
    return folder


def test_a_run_is_made_with_its_parents_and_holds_settings_only(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "v3"
    run, is_new = ensure_run(path)
    assert (run.path, is_new) == (path, True)
    assert list(path.iterdir()) == [run.settings]
    settings = load_settings(run.settings)
    assert settings.preset == "demo"
    assert {name: source.path for name, source in settings.sources.items()} == DEFAULT_SOURCES


def test_the_same_command_again_resumes_and_changes_nothing(tmp_path: Path, text: Path) -> None:
    def start() -> bool:
        sources = {"mine": f"{text}/one.txt", "docs": "python:docs"}
        return ensure_run(tmp_path / "run", preset="demo", sources=sources, command=("./x",))[1]

    assert start()
    before = files_in(tmp_path / "run")
    assert not start()
    assert not ensure_run(tmp_path / "run")[1]
    assert files_in(tmp_path / "run") == before


def test_a_source_that_has_vanished_is_no_obstacle_to_a_resume(tmp_path: Path, text: Path) -> None:
    sources = {"mine": str(text / "one.txt")}
    ensure_run(tmp_path / "run", sources=sources)
    (text / "one.txt").unlink()
    assert not ensure_run(tmp_path / "run", sources=sources)[1]


def test_a_changed_field_of_the_source_is_not_asked_about(tmp_path: Path, text: Path) -> None:
    sources = {"mine": str(text / "one.txt")}
    run, _ = ensure_run(tmp_path / "run", sources=sources)
    before = run.settings.read_text()
    after = before.replace("[sources.mine]", '[sources.mine]\nfield = "content"')
    run.settings.write_text(after)
    assert not ensure_run(tmp_path / "run", sources=sources)[1]


def test_a_command_that_asks_for_something_else_is_refused(tmp_path: Path, text: Path) -> None:
    path = tmp_path / "run"
    ensure_run(path, preset="demo", sources={"mine": str(text / "one.txt")}, command=("./x",))
    with pytest.raises(SettingsError, match=r"--preset andrea-12m: .* made with preset 'demo'"):
        ensure_run(path, preset="andrea-12m")
    with pytest.raises(SettingsError, match=r"--source mine=.*two\.txt: not so in"):
        ensure_run(path, sources={"mine": str(text / "two.txt")})
    with pytest.raises(SettingsError, match="--source docs=python:docs: not so in"):
        ensure_run(path, sources={"docs": "python:docs"})
    with pytest.raises(SettingsError, match=r"\./y: trainer\.command is another"):
        ensure_run(path, command=("./y",))


def test_sources_are_kept_absolute(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(text)
    monkeypatch.setenv("HOME", str(text))
    sources = {"here": "*.txt", "file": "one.txt", "home": "~/two.txt"}
    run, _ = ensure_run(tmp_path / "run", sources=sources)
    kept = {name: source.path for name, source in load_settings(run.settings).sources.items()}
    assert kept["home"] == str(text / "two.txt")
    assert all(Path(path).is_absolute() for path in kept.values())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match="--source here="):
        ensure_run(tmp_path / "run", sources=sources)


@pytest.mark.parametrize(
    ("name", "path", "message"),
    [
        ("a", "/no/such/file", "--source a=/no/such/file: no such file"),
        ("a", "/no/such/*.txt", "no such file; check the path or the glob"),
        ("a", "~nobody-here/x", "no such file"),
        ("a", "/", "is the whole disk"),
        ("a", "", "--source a=: write it as NAME=PATH"),
        ("", "/etc/hosts", "--source =/etc/hosts: write it as NAME=PATH"),
        ("a", "python:doc", "did you mean python:docs?"),
        ("a", "python:", "known: python:docs|did you mean python:"),
    ],
)
def test_a_source_that_is_not_there_is_refused_and_nothing_is_made(
    tmp_path: Path, name: str, path: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        ensure_run(tmp_path / "runs" / "v3", sources={name: path})
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_preset_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--preset: 'big' is none of demo"):
        ensure_run(tmp_path / "run", preset="big")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="file: is a file; a run is a directory"):
        ensure_run(tmp_path / "file")
    with pytest.raises(SettingsError, match="can't be made there: Not a directory"):
        ensure_run(tmp_path / "file" / "run")
    with pytest.raises(SettingsError, match="can't be made there: File name too long"):
        ensure_run(tmp_path / ("x" * 300))


def test_a_directory_that_takes_no_file_is_told(tmp_path: Path) -> None:
    with recorded_os(0), pytest.raises(SettingsError, match="can't be made there: Input/output"):
        ensure_run(tmp_path)


def test_a_fault_at_any_call_leaves_the_whole_run_or_nothing(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        try:
            ensure_run(folder / "runs" / "v3")
        except SettingsError as error:
            raise OSError from error

    for call, folder in each_fault(make, tmp_path):
        left = [path for path in folder.rglob("*") if path.is_file()]
        if left:
            assert left == [folder / "runs" / "v3" / "run.toml"], call
            load_settings(left[0])
            assert not call.endswith(".partial"), call
        else:
            assert list(folder.iterdir()) == [], call
        assert folder.name == FOLDER


def test_a_directory_that_was_there_stays_after_an_error(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with recorded_os(0), pytest.raises(SettingsError):
        ensure_run(tmp_path / "run")
    assert (tmp_path / "run").is_dir()


_CREATOR = """
import sys
from pathlib import Path
from trainer.rundir.config.creation import ensure_run
print("ready", flush=True)
sys.stdin.readline()
for number in range(60):
    run, is_new = ensure_run(Path(sys.argv[1]) / str(number) / "run")
    print(int(is_new), run.settings.read_text().count("[sources."), flush=True)
"""


def test_of_two_creators_at_once_one_makes_the_run_that_both_get(tmp_path: Path) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", _CREATOR, str(tmp_path)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for child in children:
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin
        child.stdin.write("go\n")
        child.stdin.flush()
    outputs = [child.communicate()[0].split("\n")[:-1] for child in children]
    pairs = list(zip(*outputs, strict=True))
    assert len(pairs) == 60
    assert all(sorted(pair) == ["0 3", "1 3"] for pair in pairs)
    assert all(len(list(path.iterdir())) == 1 for path in tmp_path.glob("*/run"))


def test_the_loser_of_the_race_is_refused_what_the_winner_did_not_ask_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(path: Path, data: bytes) -> None:
        path.write_text('preset = "andrea-12m"')
        raise FileExistsError

    monkeypatch.setattr("trainer.rundir.config.creation.create_exclusively", too_late)
    with pytest.raises(SettingsError, match="made with preset 'andrea-12m'"):
        ensure_run(tmp_path / "run", preset="demo")
    assert not ensure_run(tmp_path / "run")[1]

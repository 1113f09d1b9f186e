"""The systemd unit: valid, and with the trainer's exit codes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from console.cli import main
from console.operations.systemd_unit import linger_words, stop_seconds, unit_name, unit_text
from tests.tiny import make_tiny_run
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, SettingsError


def unit_of(run: RunDirectory, *, is_system: bool = False) -> str:
    command = ["/bin/sh", "-c", 'echo "$HOME" 100% done', str(run.path)]
    return unit_text(
        run, command, {"A_PATH": "/a b/c"}, checkpoint_bytes=1_441_529_864, is_system=is_system
    )


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs Debian's package systemd")
@pytest.mark.parametrize("is_system", [False, True])
def test_systemd_finds_nothing_wrong_with_the_unit(is_system: bool, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "a run of 50%")
    run.path.mkdir()
    unit = tmp_path / unit_name(run)
    unit.write_text(unit_of(run, is_system=is_system))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    of_ours = [line for line in verified.stderr.splitlines() if unit.name in line]
    assert (verified.returncode, of_ours) == (0, [])


def test_each_exit_code_is_a_gentle_end_a_persons_or_a_restart(tmp_path: Path) -> None:
    lines = unit_of(RunDirectory(tmp_path)).splitlines()
    unit = dict(line.split("=", 1) for line in lines if "=" in line)
    gentle = {int(code) for code in unit["SuccessExitStatus"].split()} | {0}
    persons = {int(code) for code in unit["RestartPreventExitStatus"].split()}
    assert gentle == {0, 10, 130, 143}
    assert set(Exit) - gentle - persons == {Exit.ERROR}
    assert unit["Restart"] == "on-failure"


@pytest.mark.parametrize("name", ["a\nExecStartPre=touch x", "a\x1b[2J", "a\udcff"])
def test_a_run_whose_name_a_unit_cant_hold_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="a unit file can't hold"):
        unit_of(RunDirectory(tmp_path / name))


def test_a_stop_has_time_for_a_save_on_a_slow_disk() -> None:
    assert stop_seconds(1_441_529_864) > 2 * 1_441_529_864 / 20e6


def test_verb_prints_the_unit_and_where_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_tiny_run(tmp_path / "run")
    assert main(["service", str(run.path), "--system"]) == 0
    printed = capsys.readouterr()
    assert f'"-P" "-m" "trainer" "{run.path}"' in printed.out
    assert "/etc/systemd/system/andrea-run.service" in printed.err
    assert "trainer.restart" not in printed.err


def test_service_of_the_user_tells_of_linger_and_of_the_system_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_tiny_run(tmp_path / "run")
    assert main(["service", str(run.path)]) == 0
    assert "linger" in capsys.readouterr().err
    assert main(["service", str(run.path), "--system"]) == 0
    assert "linger" not in capsys.readouterr().err


def test_linger_is_looked_up_where_systemd_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ann")
    enable = "first: loginctl enable-linger ann"
    assert f"where it is to run, {enable}" in linger_words(root=tmp_path)
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    assert linger_words(root=tmp_path).startswith("ann does not linger: it would end at the logout")
    assert linger_words(root=tmp_path).endswith(enable)
    flags = tmp_path / "var/lib/systemd/linger"
    flags.mkdir(parents=True)
    (flags / "ann").touch()
    assert linger_words(root=tmp_path).startswith("ann lingers")


def test_service_tells_of_the_console_that_restarts_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_tiny_run(tmp_path / "run")
    with run.settings.open("a") as file:
        file.write("[trainer]\nrestart = true\n")
    assert main(["service", str(run.path)]) == 0
    assert "set trainer.restart = false" in capsys.readouterr().err

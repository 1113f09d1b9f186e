"""Names and foreign text in messages, and names in commands to copy."""

import os
import shutil
import subprocess
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console import cli
from tests.tiny import make_tiny_run, train_here
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.policy_change import load_policy_file
from trainer.rundir.fork import make_fork
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control, quoted, shown
from trainer.rundir.outcomes import SettingsError

NAMES = st.binary(min_size=1, max_size=30).filter(lambda b: b"\0" not in b).map(os.fsdecode)
ODD = [
    b"plain.txt",
    b"a b",
    b'it\'s $HOME `ls` "x"\\',
    b"line\nfeed",
    b"\x1b[31mred\x1b]0;owned\x07",
    b"\xff\xfe\xe9t\xe9",
    "été \u202e.txt".encode(),
    b"-rf",
    b"x'\xff\\n7",
]


def test_control_sequences_are_spelled_out() -> None:
    text = "\x1b]0;owned\x07\x9b2J\u202egnp\ttab\nnext\r\x00\ud800"
    expected = "\\x1b]0;owned\\x07\\x9b2J\\u202egnp    tab\nnext\\x0d\\x00\\ud800"
    assert escape_control(text) == expected
    assert "\n" not in escape_control(text, keep_newlines=False)


@given(st.text(st.characters()))
def test_escaped_text_is_printable_and_encodes(text: str) -> None:
    printed = escape_control(text, keep_newlines=False)
    assert printed.isprintable()
    printed.encode("utf-8")


def test_bytes_that_are_no_utf_8_are_shown_as_bytes() -> None:
    assert shown(Path(os.fsdecode(b"caf\xe9.txt"))) == escape_control("caf\udce9.txt")
    assert shown(os.fsdecode(b"caf\xe9.txt")) == "caf\\xe9.txt"


@given(NAMES)
def test_any_name_is_shown_on_one_line_that_encodes(name: str) -> None:
    assert shown(name).isprintable()
    shown(name).encode()


def test_name_without_oddities_is_shown_as_it_is() -> None:
    assert shown(Path("/data/Texte für uns/a b.txt")) == "/data/Texte für uns/a b.txt"
    assert quoted(Path("/data/v3")) == "/data/v3"


def _back_from_bash(words: list[str]) -> list[bytes]:
    command = "printf '%s\\0' " + " ".join(words)
    bash = shutil.which("bash")
    assert bash
    made = subprocess.run([bash, "-c", command], capture_output=True, check=True)
    return made.stdout.split(b"\0")[:-1]


@pytest.mark.parametrize("name", ODD)
def test_shell_takes_a_quoted_name_back_byte_for_byte(name: bytes) -> None:
    word = quoted(os.fsdecode(name))
    assert word.isprintable()
    assert _back_from_bash([word]) == [b"./" + name if name.startswith(b"-") else name]


@settings(max_examples=20)
@given(st.lists(NAMES, min_size=50, max_size=50))
def test_any_names_come_back_from_the_shell(names: list[str]) -> None:
    expected = [os.fsencode(f"./{n}" if n.startswith("-") else n) for n in names]
    assert _back_from_bash([quoted(name) for name in names]) == expected


NO_UTF_8 = os.fsdecode(b"caf\xe9")


def test_run_whose_name_is_no_utf_8_is_shown_and_not_forked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunDirectory(make_tiny_run(tmp_path / "plain").path.rename(tmp_path / NO_UTF_8))
    train_here(run, until=2)
    capsys.readouterr()
    cli.main(["status", str(run.path), "--json"])
    assert orjson.loads(capsys.readouterr().out)["run"] == "caf\\xe9"
    with pytest.raises(SettingsError, match=r"caf\\xe9: is no UTF-8.*rename it"):
        make_fork(run, 2, "fork", settings={}, change=None, t=0.0)
    sibling = make_tiny_run(tmp_path / "run")
    with pytest.raises(SettingsError, match=r"caf\\xe9: is no UTF-8.*rename it"):
        make_fork(sibling, 2, NO_UTF_8, settings={}, change=None, t=0.0)


def test_source_whose_name_is_no_utf_8_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / f"{NO_UTF_8}.txt").write_text("text")
    with pytest.raises(SettingsError, match=r"--source a=.*caf\\xe9\.txt: is no UTF-8"):
        ensure_run(tmp_path / "run", sources={"a": str(tmp_path / f"{NO_UTF_8}.txt")})
    assert not (tmp_path / "run").exists()
    policy = tmp_path / NO_UTF_8 / "policy.toml"
    policy.parent.mkdir()
    policy.write_text('[sources.a]\npath = "a.txt"\n')
    with pytest.raises(SettingsError, match=r"caf\\xe9/a\.txt: is no UTF-8"):
        load_policy_file(policy)

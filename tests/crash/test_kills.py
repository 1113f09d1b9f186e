"""A few real SIGKILLs; `python -m tests.crash.kills` makes hundreds."""

import subprocess
import sys

from tests.tiny import ROOT


def test_killed_saves_and_runs_lose_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.crash.kills", "--saves", "8", "--runs", "4"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, ""), ended.stderr
    assert "0 failures" in ended.stderr

"""The operator's pager, at a place of a file, while the console steps aside."""

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path


def pager_command(environ: Mapping[str, str], path: Path, at: int) -> list[str]:
    """What opens `path` at byte `at`; a pager other than less opens it at its beginning.

    less counts lines from the file's beginning unless told not to: not in gigabytes.
    """
    try:
        command = shlex.split(environ.get("PAGER", "")) or ["less"]
    except ValueError:
        command = ["less"]
    if Path(command[0]).name == "less":
        command += ["-n", f"+{at}P"]
    return [*command, "--", os.fspath(path)]


def run_pager(command: list[str]) -> str:
    """Runs until it is closed; Ctrl+C is the pager's. Why it could not, in words; else empty."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        subprocess.run(command, check=False)
    except OSError as error:
        return f"{command[0]}: {error.strerror or error}"
    finally:
        signal.signal(signal.SIGINT, before)
    return ""

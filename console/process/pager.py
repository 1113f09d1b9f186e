"""What opens a place of a file in the operator's pager."""

import os
import shlex
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

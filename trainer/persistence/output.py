"""Lines for a person: a full disk under the log, or a terminal that is gone, costs only them."""

import contextlib
import os
import sys
from typing import TextIO

from trainer.rundir.names import told


def print_line(line: str, *, to: TextIO | None = None) -> None:
    """Print at once on stdout, or on `to`; what can't be written now is no error."""
    with contextlib.suppress(OSError):
        print(told(line, keep_newlines=True), file=to, flush=True)


def give_up_unwritten() -> None:
    """Before the process ends: Python would try again, and change the exit code for failing."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)

"""`andrea-console RUN`, or `python -m console RUN`."""

import contextlib
import ctypes
import gc
import sys

from console.follow.read_ahead import begin_reading

_M_ARENA_MAX = -8
"""mallopt(3)"""


def main() -> int:
    """Load the console and run one command; returns its exit code."""
    # What is loaded stays: looking for garbage in it costs a tenth of the start.
    gc.disable()
    with contextlib.suppress(AttributeError):  # another C library than glibc
        # An arena a thread keeps what each one freed: 5 MB of 100 at 200,000 records.
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    ahead = begin_reading(sys.argv[1:])
    from console.cli import main as run_command  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    return run_command(ahead=ahead)


if __name__ == "__main__":
    raise SystemExit(main())

"""`andrea-console RUN`, or `python -m console RUN`."""

import gc
import sys

from console.follow.read_ahead import begin_reading
from console.process.allocator import use_one_arena


def main() -> int:
    """Load the console and run one command; returns its exit code."""
    # What is loaded stays: looking for garbage in it costs a tenth of the start.
    gc.disable()
    use_one_arena()
    ahead = begin_reading(sys.argv[1:])
    from console.cli import main as run_command  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    return run_command(ahead=ahead)


if __name__ == "__main__":
    raise SystemExit(main())

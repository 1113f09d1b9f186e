"""`python -m tests.benchmarks [NAME]…`: measure, and print tables with their machine."""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import health, leet, preparing, rows, saving, screen, training
from tests.benchmarks.measure import machine

BENCHMARKS: dict[str, Callable[[argparse.Namespace], None]] = {
    "training": training.training,
    "shares": training.shares,
    "whole": training.whole,
    "audit": training.audit,
    "around": training.around,
    "history": training.history_start,
    "waiting": saving.waiting,
    "writing": saving.writing,
    "reading": saving.reading,
    "resuming": saving.resuming,
    "flat": saving.flat,
    "opening": screen.opening,
    "news": screen.news,
    "idle": screen.idle,
    "imports": screen.imports,
    "health": health.health,
    "rows": rows.rows,
    "preparing": preparing.preparing,
    "leet": leet.leet,
    "soak": screen.soak,
}
BY_NAME_ONLY = {"leet", "soak"}


def main() -> None:
    names = "\n".join(f"  {name:10} {call.__doc__}" for name, call in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        epilog=f"benchmarks (all but leet and soak if none is named):\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure")
    parser.add_argument("--nanogpt", type=Path, help="a checkout of nanoGPT, to compare with")
    parser.add_argument("--wandb", type=Path, help="the command of an installed W&B, for leet")
    parser.add_argument("--peers", type=Path, help="a Python that has datasets and datatrove")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0, help="of idle, at work and soak")
    parser.add_argument("--directory", type=Path, help="on the disk to measure; kept")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    if "leet" in options.names and not options.wandb:
        parser.error("leet needs --wandb COMMAND: the wandb of an environment that has it")
    with tempfile.TemporaryDirectory() as directory:
        options.directory = options.directory or Path(directory)
        options.directory.mkdir(parents=True, exist_ok=True)
        print(machine())
        for name in options.names or [n for n in BENCHMARKS if n not in BY_NAME_ONLY]:
            BENCHMARKS[name](options)


if __name__ == "__main__":
    main()

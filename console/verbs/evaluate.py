"""`andrea-console evaluate`: a checkpoint's loss on the whole held-out text."""

import argparse
import sys
import time
from collections.abc import Callable

from console import formatting
from console.process.evaluating import Reached, evaluate
from console.verbs.verb import Verb, print_json, say
from trainer.rundir.evaluations import Evaluation, HeldOutLoss
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control, shown

_LINE_SECONDS = 10.0
"""Between two lines of progress where they can't replace each other."""
_TITLES = f"{'val_loss':>9}  {'± error':>8}  {'bits/byte':>9}  {'tokens':>13}  {'rows':>9}"
_ERASE = "\r\x1b[K"


def evaluate_run(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Print the loss of each source; how far it is goes to stderr meanwhile."""
    progress = ProgressLines()
    told = evaluate(run, step=arguments.step, sources=arguments.source, device=arguments.device)
    for what in told:
        if isinstance(what, Reached):
            progress.show(what)
            continue
        progress.end()
        if isinstance(what, str):
            say(what)
        elif arguments.json:
            print_json({"run": shown(run.name), **what.as_json()})
        else:
            print(escape_control("\n".join(as_lines(what))))
    return 0


def as_lines(made: Evaluation) -> list[str]:
    """The evaluation as a table."""
    where = f"on {made.device} in {made.precision}"
    whole = made.whole
    rows = [*made.sources.items()]
    if whole is not None and len(rows) > 1:
        rows.append(("all", whole))
    rows += [(f"test {name}", each) for name, each in made.tests.items()]
    width = max([len("source"), *(len(shown(name)) for name, _ in rows)])
    return [
        f"{made.checkpoint}, {where}",
        "",
        f"{'source':<{width}}  {_TITLES}",
        *(f"{shown(name):<{width}}  {_figures(each)}" for name, each in rows),
    ]


def _figures(loss: HeldOutLoss) -> str:
    return (
        f"{loss.val_loss:>9.4f}  {formatting.number(loss.standard_error, 4):>8}"
        f"  {formatting.number(loss.bits_per_byte, 4):>9}  {loss.tokens:>13,}  {loss.rows:>9,}"
    )


class ProgressLines:
    """How far it is, on stderr: a line that is replaced in a terminal, else one at times."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: tuple[float, int] | None = None
        """When it came to its first tokens, and to how many."""
        self._said = -_LINE_SECONDS
        self._is_open = False

    def show(self, reached: Reached) -> None:
        """Show it, if it is time."""
        now = self._clock()
        line = self.line(reached, now)
        if sys.stderr.isatty():
            print(f"{_ERASE}{line}", end="", file=sys.stderr, flush=True)
            self._is_open = True
        elif now - self._said >= _LINE_SECONDS:
            say(line)
            self._said = now

    def line(self, reached: Reached, now: float) -> str:
        """`web: 12 % of 10.0M tokens, 1,200 a second, 2 h 05 to go`."""
        total = formatting.short_steps(reached.total)
        if not reached.source:
            return f"loading; {total} tokens are held out"
        if self._begun is None:
            self._begun = (now, reached.done)
        begun, before = self._begun
        rate = (reached.done - before) / (now - begun) if now > begun else 0.0
        left = (reached.total - reached.done) / rate if rate else None
        share = formatting.percent(reached.done / reached.total)
        to_go = "" if left is None else f", {formatting.duration(left)} to go"
        return f"{shown(reached.source)}: {share} of {total} tokens{to_go}"

    def end(self) -> None:
        """Leave nothing behind on the terminal's line."""
        if self._is_open:
            print(_ERASE, end="", file=sys.stderr, flush=True)
            self._is_open = False


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--step", type=int, metavar="N", help="of the checkpoint (default: the newest)"
    )
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="NAME",
        help="only this source or test set; may be repeated (default: all)",
    )
    parser.add_argument(
        "--device",
        default="",
        metavar="DEVICE",
        help="cpu, cuda or cuda:N (default: run.toml's); half of a card's free memory at most is"
        " taken",
    )
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts")


EVALUATE = Verb(name="evaluate", act=evaluate_run, add_arguments=_add_arguments)

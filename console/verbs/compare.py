"""`andrea-console compare`: runs side by side, as a table for a person or as JSON."""

import argparse
from dataclasses import asdict
from pathlib import Path

from console import formatting
from console.fork.comparison import Comparison, compare, read_side
from console.fork.paired_rows import difference
from console.verbs.verb import Verb, print_json
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control, shown
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.runs import why_no_run


def compare_runs(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Print the comparison of `run` with the others."""
    runs = [run, *(RunDirectory(path) for path in arguments.others)]
    for other in runs:
        if not other.settings.exists():
            why = why_no_run(other.path) if other.path.is_dir() else ""
            raise SettingsError(why or f"{shown(other.path)}: there is no run")
    made = compare([read_side(each) for each in runs])
    if arguments.json:
        print_json(asdict(made))
    else:
        print(escape_control("\n".join(as_lines(made))))
    return 0


def as_lines(made: Comparison) -> list[str]:
    """The comparison in words and columns."""
    audited, last = formatting.steps(made.audited_step), formatting.steps(made.last_step)
    same = formatting.steps(made.parted_after)
    lines = [
        f"the same up to step {same}; trained by all to {last}; audited by all at {audited}",
        "",
        _row("", [column.name for column in made.columns]),
        _row(f"val_loss, {made.shared_rows} rows", [_loss(c.val_loss) for c in made.columns]),
        *_by_source(made),
        _row("score", [formatting.score(c.score) for c in made.columns]),
        *_mean_scores(made),
        _row("training loss, mean", [_loss(c.mean_loss) for c in made.columns]),
        _row("training loss, EMA", [_loss(c.ema) for c in made.columns]),
        "",
    ]
    lines += [_row(name, [_shown(v) for v in of_all]) for name, of_all in made.differences.items()]
    lines += [""] if made.differences else []
    lines += [column.verdict for column in made.columns if column.verdict]
    return [line.rstrip() for line in (*lines, *made.remarks)]


def _mean_scores(made: Comparison) -> list[str]:
    n_prompts = len(made.columns[0].samples)
    means = [formatting.score(column.mean_score) for column in made.columns]
    return [_row(f"score, mean of {n_prompts} prompts", means)] if n_prompts > 1 else []


def _by_source(made: Comparison) -> list[str]:
    """Of several sources the loss of each and, on rows that all share, its difference."""
    lines = []
    for each in made.sources if len(made.sources) > 1 else ():
        of_what = f"{each.rows} rows" if each.rows else "own rows"
        lines.append(_row(f"  {each.name}, {of_what}", [_loss(loss) for loss in each.losses]))
        if any(each.against_first):
            differences = [difference(p).replace(" ", "") for p in each.against_first]
            lines.append(_row("    difference", differences))
    return lines


def _row(name: str, values: list[str]) -> str:
    return f"{name:<28}" + "".join(f" {value:>15}" for value in values)


def _loss(value: float | None) -> str:
    return formatting.UNKNOWN if value is None else f"{value:.4f}"


def _shown(value: object) -> str:
    return "absent" if value is None else str(value)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("others", type=Path, nargs="+", metavar="RUN", help="runs to compare with")
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts")


COMPARE = Verb(
    name="compare",
    act=compare_runs,
    add_arguments=_add_arguments,
)

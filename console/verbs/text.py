"""`andrea-console text`: what a step was fed."""

import argparse

from console import formatting
from console.process.batch_text import batch_text
from console.verbs.verb import Verb, print_json
from console.view.batch_words import place_of, places_of, proof_words
from trainer.rundir.batch import Batch, BatchRow, RowDocument
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control, shown

_HEAD_CHARACTERS = 160
"""Of each row's text, where its rows weren't named."""


def tell_text(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Print each step's rows: where they are from, their text, and on demand their losses."""
    found = batch_text(
        run,
        arguments.step,
        around=arguments.around,
        rows=arguments.rows,
        with_losses=arguments.losses,
        device=arguments.device,
    )
    batches = list({batch.step: batch for batch in found}.values())  # the last of each step
    if arguments.json:
        told = [{"run": shown(run.name), **batch.as_json()} for batch in batches]
        print_json(told if arguments.around else told[0])
        return 0
    is_whole = bool(arguments.rows)
    lines = [line for batch in batches for line in (*as_lines(run, batch, is_whole=is_whole), "")]
    print(escape_control("\n".join(lines[:-1])))
    return 0


def as_lines(run: RunDirectory, batch: Batch, *, is_whole: bool) -> list[str]:
    """The batch; the row with the highest loss first. `is_whole`: all of each row's text."""
    rows = (line for row in batch.worst_first().rows for line in _row(row, is_whole=is_whole))
    loss = formatting.loss(batch.loss)
    return [
        f"step {batch.step:,}, phase {batch.phase}, {shown(batch.arm)}: loss {loss} on record",
        proof_words(run, batch),
        *rows,
    ]


def _row(row: BatchRow, *, is_whole: bool) -> list[str]:
    losses = [row.loss_before, row.loss_after]
    loss = "" if losses == [None, None] else f"  loss {' → '.join(map(formatting.loss, losses))}"
    again = f", given {formatting.count(row.seen, 'time')} before" if row.seen else ""
    head = [f"row {row.row}{loss}  source row {row.source_row:,}{again}"]
    if is_whole:
        return [*head, *(line for each in row.documents for line in _whole(each))]
    text = " ⏎ ".join(line for each in row.documents for line in each.text.splitlines())
    cut = text if len(text) <= _HEAD_CHARACTERS else f"{text[:_HEAD_CHARACTERS]}…"
    return [f"{head[0]}  {places_of(row)}", f"    {cut}"]


def _whole(document: RowDocument) -> list[str]:
    return [f"  {place_of(document)}", *(f"    {line}" for line in document.text.splitlines())]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--step", type=int, required=True, metavar="N", help="which step")
    parser.add_argument(
        "--around", type=_count, default=0, metavar="K", help="and so many before and after it"
    )
    parser.add_argument(
        "--rows", type=_rows, default=(), metavar="A..B", help="these of its rows, with all text"
    )
    parser.add_argument(
        "--losses",
        action="store_true",
        help="each row's own loss at the checkpoints before and after, the highest first: takes"
        " seconds, and proves the rows where the checkpoint is of the step before",
    )
    parser.add_argument(
        "--device",
        default="",
        metavar="DEVICE",
        help="for the losses: cpu, cuda or cuda:N (default: run.toml's)",
    )
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts")


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of steps, as 5")
    return int(text)


def _rows(text: str) -> range:
    first, dots, last = text.partition("..")
    last = last if dots else first
    if not (first.isdigit() and last.isdigit() and 1 <= int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"{text!r} is no row and not A..B, as 3 or 3..5")
    return range(int(first), int(last) + 1)


TEXT = Verb(name="text", act=tell_text, add_arguments=_add_arguments)

"""`andrea-console seen`: which steps a document was in, and when it comes next."""

import argparse
import math
import sys

from console import formatting
from console.process.seen_text import Searched, seen_text
from console.verbs.verb import Verb, print_json, say
from console.view.batch_words import place_of
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control, shown
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.seen import SeenDocument

_FOUND, _NOT_FOUND = 0, 1
_SHOWN_STEPS = 12
_ERASE = "\r\x1b[K"


def find(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Print each document and its steps; how far the search is goes to stderr meanwhile."""
    if bool(arguments.words) == bool(arguments.file):
        raise SettingsError("seen: name some words of the text, or a --file")
    file, row = _file_and_row(arguments.file)
    documents = []
    told = seen_text(run, words=arguments.words, file=file, row=row, most=arguments.most + 1)
    for what in told:
        if isinstance(what, SeenDocument):
            documents.append(what)
        elif sys.stderr.isatty():
            print(f"{_ERASE}{_progress(what)}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(_ERASE, end="", file=sys.stderr, flush=True)
    first, more = documents[: arguments.most], len(documents) > arguments.most
    if arguments.json:
        told_documents = [document.as_json() for document in first]
        print_json({"run": shown(run.name), "documents": told_documents, "more": more})
    else:
        print(escape_control("\n\n".join("\n".join(as_lines(each)) for each in first)))
        if more:
            say(f"and more than {len(first)}: name more of its words, or give --most")
    if not documents:
        say("no text that is trained on has that; held-out text isn't searched")
    return _FOUND if documents else _NOT_FOUND


def as_lines(document: SeenDocument) -> list[str]:
    """The document, its steps, and when it comes next."""
    text = " ⏎ ".join(document.text.splitlines())
    return [
        f"{place_of(document)}  {shown(document.source)}, document {document.document:,}",
        f"    {text}",
        *_steps(document),
        f"  {_next(document)}",
    ]


def _steps(document: SeenDocument) -> list[str]:
    sightings = document.sightings
    if not sightings:
        return ["  never given so far"]
    lines = [
        f"  step {each.step:,}  phase {each.phase}, row {each.row}  {formatting.moment(each.t)}"
        for each in sightings[-_SHOWN_STEPS:]
    ]
    n_earlier = len(sightings) - len(lines)
    earlier = [
        f"  {formatting.count(n_earlier, 'time')} before, from step {sightings[0].step:,} on"
    ]
    return [*(earlier if n_earlier else []), *lines]


def _next(document: SeenDocument) -> str:
    if not document.n_rows:
        return "all of it is held out: never trained on"
    if document.next_in_rows is None:
        return "its source is none of this phase: it won't come again"
    if document.next_in_steps is None:
        return "its source isn't drawn from now: nobody knows when it comes next"
    n_steps = math.ceil(document.next_in_steps)
    in_steps = "1 step" if n_steps <= 1 else f"{formatting.short_steps(n_steps)} steps"
    return f"comes next in about {in_steps}, if its source keeps its share"


def _progress(searched: Searched) -> str:
    share = formatting.percent(searched.done / searched.total if searched.total else 1.0)
    return f"{shown(searched.source)}: {share} of {formatting.short_steps(searched.total)} tokens"


def _file_and_row(text: str) -> tuple[str, int | None]:
    """`FILE` or `FILE:ROW`."""
    file, colon, row = text.rpartition(":")
    return (file, int(row)) if colon and row.isdecimal() else (text, None)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="?", default="", metavar="WORDS", help="as they stand in the text"
    )
    parser.add_argument(
        "--file", default="", metavar="FILE[:ROW]", help="a file of a source, or a row of it"
    )
    parser.add_argument(
        "--most", type=_count, default=10, metavar="N", help="documents at most (default: 10)"
    )
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts")


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of documents, as 10")
    return int(text)


SEEN = Verb(name="seen", act=find, add_arguments=_add_arguments)

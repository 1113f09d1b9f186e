"""Asking when a run was given a document: a process of its own has the tokenizer."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from console.process.answers import answers_of
from trainer.rundir.layout import RunDirectory
from trainer.rundir.seen import SeenDocument, document_of

_MODULE = "trainer.seen_text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """How far the search is."""

    source: str
    """Foreign text."""
    done: int
    total: int
    """Tokens of the source."""


Told: TypeAlias = SeenDocument | Searched


def seen_text(
    run: RunDirectory, *, words: str = "", file: str = "", row: int | None = None, most: int
) -> Iterator[Told]:
    """Documents with these words, or of this file, so many at most; ends when nobody reads on.

    Raises `RunError` with the exit code that fits, or `OSError`.
    """
    arguments = [str(run.path.absolute()), f"--most={most}"]
    arguments += [f"--file={file}"] if file else [f"--words={words}"]
    arguments += [] if row is None else [f"--row={row}"]
    for told in answers_of(_MODULE, arguments):
        if "document" in told:
            yield document_of(told["document"])
        else:
            yield Searched(**told)

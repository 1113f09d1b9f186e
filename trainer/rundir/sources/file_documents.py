"""Read the documents of one file, by what it is."""

from collections.abc import Iterator
from pathlib import Path

from trainer.rundir.names import shown
from trainer.rundir.sources.content import TABLES, Content, Kind, content_of, opened
from trainer.rundir.sources.left_out import LeftOut
from trainer.rundir.sources.tables import read_table, require_column
from trainer.rundir.sources.text_files import (
    WHOLE_FILE_BYTES,
    decoded,
    read_json_array,
    read_json_lines,
    read_parts,
)
from trainer.rundir.sources.text_rules import TextRules


def read_file_documents(
    path: Path, content: Content, field: str, rules: TextRules, left_out: LeftOut
) -> Iterator[str]:
    """The documents of a file, as `read_documents` tells; raises `SourceError`."""
    if content.kind in TABLES:
        yield from read_table(path, content.kind, field, left_out)
        return
    if content.kind is Kind.TEXT:
        with opened(path, content.compression) as file:
            head = file.read(WHOLE_FILE_BYTES + 1)
        if len(head) <= WHOLE_FILE_BYTES:
            yield decoded(head)
            return
    with opened(path, content.compression) as file:
        if content.kind is Kind.JSON_LINES:
            yield from read_json_lines(file, field, shown(path), left_out)
        elif content.kind is Kind.JSON_ARRAY:
            yield from read_json_array(file, field, shown(path), left_out)
        else:
            yield from read_parts(file, rules.piece_characters)


def read_located_documents(
    path: Path, content: Content, field: str, rules: TextRules, left_out: LeftOut
) -> Iterator[tuple[int, str]]:
    """As `read_file_documents`, each with the number of the row (line, element) it begins at."""
    lines = 1
    for text in read_file_documents(path, content, field, rules, left_out):
        if content.kind is Kind.TEXT:
            yield lines, text
            lines += text.count("\n")
        else:
            yield left_out.rows, text


def require_documents(path: Path, field: str, rules: TextRules) -> None:
    """Raise `SourceError` where a first look tells that a file gives no text."""
    content = content_of(path, field, rules)
    if content.kind in TABLES:
        require_column(path, content.kind, field)

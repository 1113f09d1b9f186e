"""The samples of one audit behind several prompts, side by side as far as there is room; pure."""

from itertools import zip_longest

from textual.content import Content

from console import formatting
from console.ui.theme import DIM
from console.ui.widgets.audit_lines import (
    change_content,
    repeated_content,
    score_style,
    text_lines,
)
from console.ui.widgets.text import Piece, foreign, left, line
from console.view.run_view import Audit, Sample

_LEAST_CELLS = 48
"""Of a column: in less, prose falls into lines of a few words."""
_GAP = " │ "
_NAME_CELLS = 24


def columns_in(audit: Audit, width: int) -> int:
    """How many of its samples stand side by side in `width` cells, at least one."""
    room = (width + len(_GAP)) // (_LEAST_CELLS + len(_GAP))
    return max(min(len(audit.samples), room), 1)


def sample_columns(
    audit: Audit, before: Audit | None, width: int, *, search: str = ""
) -> list[Content]:
    """A heading and the text of as many samples as have room, the audit's own at the left.

    Of a single prompt it is the text alone.
    """
    if not audit.more:
        return text_lines(audit, width, search=search)
    count = columns_in(audit, width)
    cells = max((width - len(_GAP) * (count - 1)) // count, 1)
    columns = [
        [_heading(sample, before, cells), *text_lines(sample, cells, search=search)]
        for sample in audit.samples[:count]
    ]
    return [_beside(row, cells) for row in zip_longest(*columns, fillvalue=Content())]


def prompt_name(prompt: str) -> str:
    """The prompt on one line, as data."""
    return f"“{foreign(prompt)}”" if prompt else "no prompt"


def _heading(sample: Sample, before: Audit | None, cells: int) -> Content:
    """`“def ” 64.2 +1.0   repeated 4 %`."""
    old = next((o for o in before.samples if o.prompt == sample.prompt), None) if before else None
    known = sample.score is not None and old is not None and old.score is not None
    change = change_content(sample.score, old.score if old else None, 1, better=1)
    score = Content.assemble(
        (left(prompt_name(sample.prompt), _NAME_CELLS).rstrip(), "bold"),
        " ",
        (formatting.score(sample.score), score_style(sample.score)),
        *((" ", change) if known else ()),
    )
    pieces = [Piece(content=score, rank=0), Piece(content=repeated_content(sample), rank=1)]
    return line(pieces, cells)


def _beside(row: tuple[Content, ...], cells: int) -> Content:
    padded = [each.pad_right(max(cells - each.cell_length, 0)) for each in row[:-1]]
    return Content.styled(_GAP, DIM).join([*padded, row[-1]])

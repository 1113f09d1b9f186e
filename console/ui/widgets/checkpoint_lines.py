"""The lines of the checkpoints pane: the heading, and a checkpoint each."""

from rich.cells import cell_len
from textual.content import Content

from console import formatting
from console.ui.theme import ACCENT, DIM, RED
from console.ui.widgets.audit_lines import score_style
from console.ui.widgets.text import Columns, columns_within, foreign, left, right
from console.view.run_view import CheckpointRow
from trainer.rundir.checkpoints.checkpoint import Skipped

_AGE_CELLS, _DATE_CELLS = 10, 14
_COLUMNS: Columns = (
    ("step", 10),
    ("score", 7),
    ("val_loss", 9),
    ("age", _AGE_CELLS),
    ("size", 9),
    ("  cause", 11),
    ("  thinning", 12),
)
_MARKED = "●"
_ARTICLES = ("the ", "a ", "an ")


def columns_for(width: int, *, is_dated: bool) -> Columns:
    """What has room; the last takes what is left."""
    wanted = _dated(_COLUMNS) if is_dated else _COLUMNS
    columns = columns_within(wanted, width)
    name, cells = columns[-1]
    if not name.startswith(" "):
        return columns
    taken = sum(cells for _, cells in columns[:-1])
    return (*columns[:-1], (name, max(cells, width - taken)))


def heading(columns: Columns) -> Content:
    """The names of the columns."""
    names = (
        left(name, cells) if name.startswith(" ") else right(name, cells) for name, cells in columns
    )
    return Content.styled("".join(names), DIM)


def skipped_content(row: Skipped) -> Content:
    """A file that is no checkpoint of the run, and why."""
    return Content.styled(f"  {foreign(row.path.name)} skipped: {foreign(row.reason)}", RED)


def row_content(row: CheckpointRow, columns: Columns, now: float, *, is_marked: bool) -> Content:
    """A checkpoint."""
    audit = row.audit
    score = audit.score if audit else None
    values: dict[str, tuple[str, str]] = {
        "step": (formatting.steps(row.step), "bold"),
        "score": (formatting.score(score), score_style(score) if score is not None else DIM),
        "val_loss": (formatting.loss(audit.val_loss if audit else None), "" if audit else DIM),
        "age": (formatting.age(now - row.modified), DIM),
        "written": (formatting.date(row.modified, now), DIM),
        "size": (formatting.size(row.n_bytes), DIM),
        "  cause": (foreign(row.cause), DIM if row.cause == "cadence" else ACCENT),
        "  thinning": _fate(row),
    }
    parts: list[str | tuple[str, str]] = []
    for name, cells in columns:
        text, style = values[name]
        shown = left(text, cells - 2) if name.startswith(" ") else text
        before = " " * max(cells - cell_len(shown), 0) if name[0] != " " else "  "
        if name == "step" and is_marked:
            before = _MARKED + before[1:]
        parts += [before, (shown, style)]
    return Content.assemble(*parts)


def _fate(row: CheckpointRow) -> tuple[str, str]:
    """What thinning would do to it, and why."""
    if row.note is not None:
        return f"pinned: {foreign(row.note)}" if row.note else "pinned", "bold"
    if row.goes:
        return "goes", ""
    reason = foreign(row.stays)
    for article in _ARTICLES:
        reason = reason.removeprefix(article)
    return reason, DIM


def _dated(columns: Columns) -> Columns:
    return tuple(("written", _DATE_CELLS) if name == "age" else (name, n) for name, n in columns)

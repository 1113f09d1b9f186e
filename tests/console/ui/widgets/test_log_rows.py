"""Long lines over several rows."""

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from console.ui.widgets.log_rows import LogRows
from trainer.rundir.names import escape_control


@given(st.lists(st.text(max_size=60), max_size=8), st.integers(2, 20))
@example(["\N{EMOJI MODIFIER FITZPATRICK TYPE-1-2}", "\N{COMBINING ACUTE ACCENT}"], 2)
def test_every_character_stands_in_one_row_and_no_row_is_too_wide(
    texts: list[str], width: int
) -> None:
    rows = LogRows(texts, width, wraps=True)
    shown: list[list[str]] = [[] for _ in texts]
    for row in range(rows.count):
        part = rows.part_at(row)
        text = rows.text(part.line)[part.start : part.end]
        assert cell_len(text) <= width
        shown[part.line].append(text)
    assert ["".join(parts) for parts in shown] == [
        escape_control(text, keep_newlines=False) for text in texts
    ]


@given(st.lists(st.text(max_size=60), min_size=1, max_size=8), st.booleans())
def test_a_lines_first_row_is_its_own_and_rows_beyond_the_ends_are_the_nearest(
    texts: list[str], wraps: bool
) -> None:
    rows = LogRows(texts, 7, wraps=wraps)
    for line in range(len(texts)):
        assert rows.line_at(rows.row_of(line)) == line
        assert rows.part_at(rows.row_of(line)).start == 0
    assert rows.row_of(len(texts)) == rows.count
    assert rows.line_at(-5) == 0
    assert rows.line_at(rows.count + 5) == len(texts) - 1


def test_what_is_cut_begins_behind_the_shift() -> None:
    rows = LogRows(["x" * 100, "short"], 10, shift=20)
    assert rows.count == 2
    assert (rows.part_at(0).start, rows.part_at(0).end) == (20, 31)

"""Pieces that widgets write with."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content

from console.ui.widgets.text import (
    Piece,
    bar,
    columns_within,
    foreign,
    left,
    levels,
    line,
    names_within,
    right,
)


@given(st.text(), st.integers(min_value=0, max_value=30))
def test_columns_are_exactly_as_wide_as_asked_whatever_is_in_them(text: str, width: int) -> None:
    assert cell_len(left(foreign(text), width)) == width
    assert cell_len(right(foreign(text), width)) == width


@given(st.text())
def test_foreign_text_is_one_printable_line(text: str) -> None:
    assert foreign(text).isprintable()


def test_the_highest_rank_is_left_out_first_and_the_lowest_never() -> None:
    pieces = [Piece(content=Content(word), rank=rank) for word, rank in [("aa", 0), ("bb", 2)]]
    pieces.append(Piece(content=Content("cc"), rank=1))
    assert line(pieces, 12, gap=1).plain == "aa bb cc"
    assert line(pieces, 7, gap=1).plain == "aa cc"
    assert line(pieces, 2, gap=1).plain == "aa"
    assert line(pieces, 1, gap=1).plain == "…"


def test_a_bar_is_full_only_to_its_share() -> None:
    assert bar(0.5, 4) == ("━━", "──")
    assert bar(-1.0, 4) == ("", "────")
    assert bar(9.0, 4) == ("━━━━", "")


def test_levels_span_the_range_and_keep_to_it() -> None:
    assert levels([0.0, 50.0, 100.0, 900.0, -5.0], 0.0, 100.0) == "▁▅██▁"


def test_columns_that_stand_last_are_given_up_first() -> None:
    columns = (("a", 4), ("b", 4), ("c", 4))
    assert columns_within(columns, 12) == columns
    assert columns_within(columns, 11) == columns[:2]
    assert columns_within(columns, 0) == columns[:1]


ALIKE_AT_THE_START = [f"a_rather_long_source_name_{number:02}" for number in range(40)]


def test_names_that_differ_at_the_end_are_cut_before_it() -> None:
    shown = names_within(ALIKE_AT_THE_START, 24)
    assert shown[:2] == ["a_rather_long_source_…00", "a_rather_long_source_…01"]
    assert len(set(names_within(ALIKE_AT_THE_START, 3))) == 40


def test_names_that_differ_at_the_start_are_cut_at_the_end() -> None:
    names = ["english_texts_2024", "german_texts_2024"]
    assert names_within(names, 9) == ["english_…", "german_t…"]


def test_names_that_differ_in_the_middle_alone_are_cut_at_both_sides_of_it() -> None:
    names = [f"{'a' * 20}_{middle}_{'z' * 20}" for middle in "xy"]
    assert names_within(names, 10) == ["aaaaaaa…x…", "aaaaaaa…y…"]


def test_names_that_differ_in_several_places_keep_all_of_them() -> None:
    names = [f"p{a}_{'m' * 15}_{b}_{'z' * 10}" for a in "01" for b in "34"]
    assert names_within(names, 14) == ["…0…3…", "…0…4…", "…1…3…", "…1…4…"]


def test_names_that_fit_stay_as_they_are_beside_others_that_do_not() -> None:
    assert names_within(["docs", "books_of_all_kinds"], 8) == ["docs", "books_o…"]


@given(st.lists(st.text(), max_size=8), st.integers(min_value=1, max_value=30))
def test_any_names_keep_to_their_cells(names: list[str], cells: int) -> None:
    clean = [foreign(name) for name in names]
    shown = names_within(clean, cells)
    assert len(shown) == len(clean)
    assert all(cell_len(name) <= cells for name in shown)


@given(st.text("abc", max_size=20), st.text("abc", max_size=20))
def test_two_names_that_differ_are_never_shown_alike(a: str, b: str) -> None:
    assert (len(set(names_within([a, b], 6))) == 1) == (a == b)

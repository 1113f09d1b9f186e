"""Which characters the screen may use."""

from __future__ import annotations

import pytest

from console.chart.glyphs import ASCII, UNICODE, Dots, choose_glyphs


@pytest.mark.parametrize(
    "environ",
    [
        {"LANG": "C.UTF-8"},
        {"LANG": "de_DE.utf8", "ANDREA_ASCII": "0"},
        {"LANG": "C", "LC_CTYPE": "en_US.UTF-8", "TERM": "tmux-256color"},
    ],
)
def test_utf8_locale_gets_braille(environ: dict[str, str]) -> None:
    assert choose_glyphs(environ) is UNICODE


@pytest.mark.parametrize(
    "environ",
    [
        {"LANG": "C.UTF-8", "ANDREA_ASCII": "1"},
        {"LANG": "C.UTF-8", "LC_ALL": "C"},
        {"LANG": "en_US.ISO-8859-1"},
        {"LANG": "C.UTF-8", "TERM": "linux"},
        {},
    ],
)
def test_asked_for_or_other_locale_or_bare_console_gets_ascii(environ: dict[str, str]) -> None:
    assert choose_glyphs(environ) is ASCII


@pytest.mark.parametrize("dots", [UNICODE.raw, UNICODE.smooth, ASCII.raw, ASCII.smooth])
def test_tables_have_one_character_for_each_mask(dots: Dots) -> None:
    assert len(set(dots.table)) == 2 ** (dots.rows * dots.columns)


def test_braille_numbers_its_dots_row_by_row() -> None:
    top_left, top_right, bottom_left, bottom_right = (1 << bit for bit in (0, 1, 6, 7))
    assert [UNICODE.raw.table[m] for m in (top_left, top_right)] == ["⠁", "⠈"]
    assert [UNICODE.raw.table[m] for m in (bottom_left, bottom_right)] == ["⡀", "⢀"]
    assert UNICODE.raw.table[255] == "⣿"


def test_ascii_set_is_ascii() -> None:
    for name, value in vars(ASCII).items():
        text = value if isinstance(value, str) else getattr(value, "table", "")
        assert text.isascii(), name

"""Which characters the screen may use: braille and blocks, or plain ASCII."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Dots:
    """Characters that stand for small grids of dots.

    `table[mask]` is the character in which the dots of `mask` are set; bit r * columns + c of
    the mask is the dot in row r from the top and column c from the left.
    """

    rows: int
    columns: int
    table: str


@dataclass(frozen=True, kw_only=True)
class Glyphs:
    """The characters of one way of drawing. Raw and smoothed lines differ without any colour."""

    is_ascii: bool
    raw: Dots
    smooth: Dots
    raw_key: str
    smooth_key: str
    phase: str
    restart: str
    alarm: str
    vertical: str
    tick: str
    corner: str
    horizontal: str
    step_tick: str
    ellipsis: str
    separator: str
    above: str
    """Stands at the upper edge for a value beyond it."""
    below: str
    levels: str
    """Of a curve that is one row high, lowest first."""
    cursor: str


def _braille() -> str:
    """All 256 masks; Unicode numbers the dots 1-2-3-7 down the left and 4-5-6-8 down the right."""
    bits = (0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80)
    masks = range(256)
    code = [sum(bit for i, bit in enumerate(bits) if mask >> i & 1) for mask in masks]
    return " " + "".join(chr(0x2800 + c) for c in code[1:])


UNICODE = Glyphs(
    is_ascii=False,
    raw=Dots(rows=4, columns=2, table=_braille()),
    smooth=Dots(rows=2, columns=2, table=" ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"),
    raw_key="⣤⣶",
    smooth_key="▄▀",
    phase="│",
    restart="┊",
    alarm="╏",
    vertical="│",
    tick="┤",
    corner="└",
    horizontal="─",
    step_tick="┬",
    ellipsis="…",
    separator="·",
    above="▲",
    below="▼",
    levels="▁▂▃▄▅▆▇█",
    cursor="┃",
)

ASCII = Glyphs(
    is_ascii=True,
    raw=Dots(rows=2, columns=1, table=" '.:"),
    smooth=Dots(rows=1, columns=1, table=" #"),
    raw_key=".:",
    smooth_key="##",
    phase="|",
    restart="!",
    alarm="X",
    vertical="|",
    tick="+",
    corner="+",
    horizontal="-",
    step_tick="+",
    ellipsis="~",
    separator="-",
    above="^",
    below="v",
    levels="_.-=*#",
    cursor="|",
)


def choose_glyphs(environ: Mapping[str, str]) -> Glyphs:
    """ASCII if `ANDREA_ASCII=1`, if the locale isn't UTF-8, or on the kernel's own console.

    The locale is that of `LC_ALL`, `LC_CTYPE` or `LANG`, the first that isn't empty. It is read
    from the environment since Python itself uses UTF-8 even in the C locale.
    The kernel's console (`TERM=linux`) understands UTF-8, but its fonts have no braille.
    """
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    is_utf8 = "utf8" in locale.lower().replace("-", "")
    is_asked_for = environ.get("ANDREA_ASCII") == "1"
    return ASCII if is_asked_for or not is_utf8 or environ.get("TERM") == "linux" else UNICODE

"""How things look: the terminal's own colours, so that any palette and background is legible."""

from textual.theme import Theme

from console.view.run_view import Severity

TERMINAL = Theme(
    name="terminal",
    ansi=True,
    primary="ansi_cyan",
    secondary="ansi_magenta",
    accent="ansi_cyan",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "border": "ansi_cyan",
        "border-blurred": "ansi_bright_black",
        "footer-key-foreground": "ansi_cyan",
        "scrollbar": "ansi_bright_black",
        "scrollbar-hover": "ansi_bright_black",
        "scrollbar-active": "ansi_cyan",
        "scrollbar-background": "ansi_default",
        "scrollbar-background-hover": "ansi_default",
        "scrollbar-background-active": "ansi_default",
    },
)
"""Sixteen colours at most, and no background: what the operator's terminal is set to shows through.

Colour only repeats what a word or a glyph says: with NO_COLOR nothing is lost.
"""

DIM = "dim"
ACCENT = "$primary"
GOOD = "$success"
# Yellow letters can't be read on a light background: amber is a block with black letters.
AMBER = "ansi_black on ansi_yellow"
RED = "bold $error"
RED_BLOCK = "bold ansi_bright_white on ansi_red"

GLYPHS: dict[Severity, str] = {
    Severity.OK: "●",
    Severity.BUSY: "◆",
    Severity.ENDED: "■",
    Severity.ATTENTION: "▲",
    Severity.BAD: "✖",
}

STATE_STYLES: dict[Severity, str] = {
    Severity.OK: "bold $success",
    Severity.BUSY: "bold $primary",
    Severity.ENDED: "bold",
    Severity.ATTENTION: f"bold {AMBER}",
    Severity.BAD: RED_BLOCK,
}

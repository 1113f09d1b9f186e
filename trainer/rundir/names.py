"""Foreign text and names of files as a person reads them, and as a shell takes them back.

A file's name may hold any bytes but `/` and NUL: line feeds, ESC, what is no UTF-8. Python keeps
undecodable bytes as lone surrogates, which neither JSON nor a terminal takes.
"""

import os
import shlex
import unicodedata
from pathlib import Path

from trainer.rundir.directory import with_names

_UNDECODABLE = range(0xDC80, 0xDD00)


def escape_control(text: str, *, keep_newlines: bool = True) -> str:
    """Foreign text that can't steer the terminal, and that UTF-8 can hold: the rest spelled out.

    Control characters (ESC, CSI, the C1 ones), bidi overrides, other invisible ones and
    undecodable bytes become `\\x1b`, `\\u202e`, `\\xff`; tabs and wide spaces become plain spaces.
    Newlines stay if asked for.
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or (keep_newlines and character == "\n")
        else _spaces(character) or _spelled(character)
        for character in text
    )


def told(text: str, *, keep_newlines: bool = False) -> str:
    """A message for log, state and terminal: the present names of held directories, escaped."""
    return escape_control(with_names(text), keep_newlines=keep_newlines)


def shown(path: Path | str) -> str:
    """A name for messages: one line, all that is not printable spelled out."""
    return "".join(c if c.isprintable() else _spelled(c) for c in with_names(str(path)))


def quoted(path: Path | str) -> str:
    """A name for commands to copy: one word of a shell (bash, zsh, ksh) that is the same bytes.

    A name that begins with a dash gets `./` before it, so that no command takes it for an option.
    """
    name = with_names(str(path))
    name = f"./{name}" if name.startswith("-") else name
    if name.isprintable():
        return shlex.quote(name)
    spelled = (
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b"'\\" else f"\\{byte:03o}"
        for byte in os.fsencode(name)
    )
    return f"$'{''.join(spelled)}'"


def is_utf_8(path: Path | str) -> bool:
    """Whether TOML and JSON can hold the name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _spaces(character: str) -> str:
    if character == "\t":
        return "    "
    return " " if unicodedata.category(character) == "Zs" else ""


def _spelled(character: str) -> str:
    code = ord(character)
    if code in _UNDECODABLE:
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

"""Values that a reader of JSON or TOML may not expect, and text with one of them put in."""

import json
import random
import re
from typing import Any

_DEEP = ("[" * 500 + "]" * 500, "[" * 100_000 + "]" * 100_000)
_NUMBERS = (
    *("0", "-1", "-0.0", "0.1", "1e308", "-1e308", "1e-400", "2147483648", "4294967296"),
    *("9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775809"),
    *("1" + "0" * 30, "1" + "0" * 400, "1" + "0" * 5000),
)
_STRINGS = (
    *('""', '"x"', '"0"', '"../../outside/secret.json"', '"/"', '"."', '".."'),
    *('"\\u0000"', '"\\u001b[2J\\n"', f'"{"x" * 100_000}"', '"step_000006.bin"', '"é\\u202e"'),
)
ODD_JSON = (
    *("null", "true", "false", "[]", "{}", "[[]]", '{"step": 1}', '[1, "a", null]'),
    *("NaN", "Infinity", "-Infinity", "1e400", '"\\ud800"', '{"": {"": {}}}', '{"a":1,"a":2}'),
    *_NUMBERS,
    *_STRINGS,
    *_DEEP,
)
ODD_TOML = (
    *("true", "[]", "{}", "[[]]", '[1, "a"]', "{step = 1}", "nan", "inf", "-inf", "1e400"),
    *("1979-05-27", "1979-05-27T07:32:00Z", "07:32:00", "0x7fffffffffffffff", "'''\n\n'''", ""),
    *_NUMBERS,
    *_STRINGS,
    *_DEEP,
)
_MARK = "\u00abodd\u00bb"
_ASSIGNMENT = re.compile(r"^(\s*[\w.\"-]+\s*=\s*)(.*)$")
_SHOWN = 40


def shown(text: str) -> str:
    """An odd value, cut for a person."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"


def with_odd_json(text: str, chance: random.Random) -> tuple[str, str]:
    """JSON (or JSON lines) with a part of it changed, and what was done. `ValueError` if none."""
    lines = text.splitlines()
    if text.startswith("{\n") or len(lines) < 2:
        changed, what = _with_odd_node(json.loads(text), chance)
        return changed + "\n", what
    number = chance.randrange(len(lines))
    line = lines[number]
    comma = "," if line.endswith(",") else ""
    bare = line.removesuffix(",")
    lines[number], what = _with_odd_node(json.loads(bare), chance) if bare else ("{", "opened")
    lines[number] += comma
    return "\n".join(lines) + "\n", f"line {number + 1}: {what}"


def _with_odd_node(document: Any, chance: random.Random) -> tuple[str, str]:
    where, parent, key = _drawn_node(document, chance)
    if parent is None:
        odd = chance.choice(ODD_JSON)
        return odd, f"all is {shown(odd)}"
    what = chance.choice(("replace", "replace", "replace", "drop", "add"))
    if what == "drop":
        del parent[key]
        return json.dumps(document), f"{where} is dropped"
    odd = chance.choice(ODD_JSON)
    if what == "add" and isinstance(parent, dict):
        key, where = "unheard_of", f"{where}, beside it"
    parent[key] = _MARK
    return json.dumps(document, ensure_ascii=False).replace(
        f'"{_MARK}"', odd
    ), f"{where} is {shown(odd)}"


def _drawn_node(document: Any, chance: random.Random) -> tuple[str, Any, Any]:
    """Of all values of the document one, as (path, what holds it, key)."""
    found: list[tuple[str, Any, Any]] = [("$", None, None)]

    def walk(path: str, node: Any) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in list(items):
            found.append((f"{path}.{key}", node, key))
            if isinstance(value, dict | list):
                walk(f"{path}.{key}", value)

    if isinstance(document, dict | list):
        walk("$", document)
    return chance.choice(found)


def with_odd_toml(text: str, chance: random.Random) -> tuple[str, str]:
    """TOML with a line of it changed, and what was done."""
    lines = text.splitlines() or [""]
    number = chance.randrange(len(lines))
    what = chance.choice(("value", "value", "value", "value", "drop", "twice", "add"))
    match = _ASSIGNMENT.match(lines[number])
    if what == "value" and match:
        odd = chance.choice(ODD_TOML)
        lines[number] = match[1] + odd
        what = f"{match[1]}{shown(odd)}"
    elif what == "drop":
        what = f"line {lines.pop(number)!r} is dropped"
    elif what == "twice":
        lines.insert(number, lines[number])
        what = f"line {lines[number]!r} stands twice"
    else:
        odd = chance.choice(_ADDED)
        lines.insert(number, odd)
        what = f"line {odd!r} is added before line {number + 1}"
    return "\n".join(lines) + "\n", what


_ADDED = (
    "unheard_of = 1",
    "[unheard_of]",
    "[[train]]",
    "[policy.gone]\ncap = 1",
    "[sources.'\\u001b[2J']\npath = 'nowhere/*'",
    '[sources."a\\nb"]\npath = "/dev/zero"',
    '[trainer]\ncommand = ["no-such-program"]',
    '[trainer]\ncommand = ["false"]\nrestart = true',
    "[trainer]\ncommand = []",
    '[trainer]\ncommand = ["a\\u0000b"]',
    "a." * 3000 + "b = 1",
    "\x00",
    "\ufeff",
)

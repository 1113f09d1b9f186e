"""What must hold of every case, and what of it did not."""

import json
import re
from dataclasses import dataclass

from tests.crash.fuzz.acts import Act
from tests.crash.fuzz.child import MEMORY_BYTES, Ended

_VERB_CODES = {*range(7), 10, 130, 141, 143}
_PRODUCT = re.compile(r'File "[^"]*?/((?:console|trainer)/[^"]+)", line \d+,? in (\S+)')
_ERROR = re.compile(rb"^([A-Za-z_][\w.]*)(?:: .*)?$", re.MULTILINE)
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
_TRACEBACK = b"Traceback (most recent call last)"
_TAIL_BYTES = 1500


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """A property that did not hold."""

    kind: str
    """`traceback`, `hang`, `memory`, `exit code`, `JSON`, `control characters` or `outside`."""
    where: str
    """Where in the product, or what: alike for all cases with the same cause."""
    detail: str


def judge(act: Act, ended: Ended, outside: list[str], log: bytes) -> list[Wrong]:
    """All that is wrong. `outside`: what changed around the run; `log`: what trainer.log gained."""
    said = ended.stdout + ended.stderr + log
    wrong = []
    if _TRACEBACK in said:
        wrong.append(Wrong(kind="traceback", where=_raised_at(said), detail=_tail(said)))
    if ended.code is None or ended.is_orphan_stuck:
        wrong.append(Wrong(kind="hang", where=_stands_at(ended.stderr), detail=_tail(ended.stderr)))
        return wrong + _outside(act, outside)
    if ended.memory_bytes > MEMORY_BYTES // 2:
        megabytes = f"{ended.memory_bytes >> 20:,} MB"
        wrong.append(Wrong(kind="memory", where=act.name, detail=megabytes))
    if ended.code not in _VERB_CODES and not wrong:
        where = f"{act.name}: {ended.code}"
        wrong.append(Wrong(kind="exit code", where=where, detail=_tail(said)))
    return wrong + _output(act, ended) + _outside(act, outside)


def _output(act: Act, ended: Ended) -> list[Wrong]:
    wrong = []
    if act.is_json and _TRACEBACK not in ended.stderr:
        problem = _json_problem(ended)
        if problem:
            detail = _tail(ended.stdout + ended.stderr)
            wrong.append(Wrong(kind="JSON", where=f"{act.name}: {problem}", detail=detail))
    if found := _CONTROL.search(ended.stderr):
        near = ended.stderr[max(0, found.start() - 200) : found.end() + 50]
        where = f"{act.name}, on stderr"
        wrong.append(Wrong(kind="control characters", where=where, detail=repr(near)))
    return wrong


def _json_problem(ended: Ended) -> str:
    """Empty: one strict document, or nothing where the verb was refused."""
    if not ended.stdout:
        return "" if ended.code not in (0, 3) else "nothing on stdout"
    try:
        json.loads(ended.stdout.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return type(error).__name__
    return ""


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _outside(act: Act, outside: list[str]) -> list[Wrong]:
    return [Wrong(kind="outside", where=f"{act.name}: {line}", detail=line) for line in outside]


def _raised_at(said: bytes) -> str:
    """The error and the innermost function of ours of the last traceback."""
    text = said[said.rindex(_TRACEBACK) :]
    frames = _PRODUCT.findall(text.decode(errors="replace"))
    errors = _ERROR.findall(text)
    error = errors[0].decode() if errors else text.split(b"\n")[0].decode(errors="replace")[34:]
    return f"{error} in {':'.join(frames[-1])}" if frames else error


def _stands_at(stderr: bytes) -> str:
    """Our innermost function of any thread that stood."""
    text = stderr.decode(errors="replace")
    _, found, stack = text.rpartition("most recent call first")
    frames = _PRODUCT.findall(stack if found else "") or _PRODUCT.findall(text)
    return ":".join(frames[0]) if frames else "nowhere of ours"


def _tail(said: bytes) -> str:
    return said[-_TAIL_BYTES:].decode(errors="backslashreplace")

"""One mutation of a run directory after another, drawn at random, and what each did in words."""

import os
import random
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.crash.fuzz.odd_values import with_odd_json, with_odd_toml

HUGE_BYTES = 2 << 30
_NAMES = (
    *("run.toml", ".loss.json", ".samples.json", ".state.json", "tokenizer.json", "tokens"),
    *("archive", "pivot.json", "fork.json", "actions.jsonl", "trainer.log", "trainer.lock"),
    *("pins", "pins/step_000006.txt"),
)
_IN_VAIN = (OSError, ValueError, LookupError, RecursionError)
"""What a mutation raises that finds nothing to change, after the ones before it."""
_DEPTHS = (100, 5_000, 100_000, 1_000_000)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What lies around the run that is mutated."""

    run: Path
    outside: Path
    """A folder with files that nobody may write: where links lead."""


Mutate = Callable[[Path, random.Random, Surroundings], str]


def mutate(around: Surroundings, chance: random.Random) -> str:
    """Do one mutation; what was done, in words. One that can't be done is told as such."""
    path = _drawn_path(around.run, chance)
    kind = chance.choices(_KINDS, _WEIGHTS)[0]
    name = os.fsencode(path.relative_to(around.run)).decode(errors="backslashreplace")
    try:
        return f"{name}: {kind(path, chance, around)}"
    except _IN_VAIN as error:
        return f"{name}: {kind.__name__}, in vain ({type(error).__name__})"


def mutate_file(path: Path, around: Surroundings, chance: random.Random) -> str:
    """The same of a single file that is no part of the run."""
    kind = chance.choices(_KINDS, _WEIGHTS)[0]
    try:
        return f"{path.name}: {kind(path, chance, around)}"
    except _IN_VAIN as error:
        return f"{path.name}: {kind.__name__}, in vain ({type(error).__name__})"


def _drawn_path(run: Path, chance: random.Random) -> Path:
    there = sorted(path for path in run.rglob("*") if not path.is_dir())
    if chance.random() < 0.6 or not there:
        return run / chance.choice(_NAMES)
    return chance.choice(there)


def odd_value(path: Path, chance: random.Random, around: Surroundings) -> str:
    """Of another type, huge, deep, or none."""
    change = with_odd_toml if path.suffix == ".toml" else with_odd_json
    text, what = change(_small(path).decode(), chance)
    path.write_bytes(text.encode(errors="surrogatepass"))
    return what


def flipped(path: Path, chance: random.Random, around: Surroundings) -> str:
    data = bytearray(_small(path))
    n_flips = chance.choice((1, 1, 3, 30))
    for _ in range(n_flips):
        data[int(chance.random() * len(data))] = chance.randrange(256)
    path.write_bytes(data)
    return f"{n_flips} bytes drawn anew"


def cut(path: Path, chance: random.Random, around: Surroundings) -> str:
    size = int(chance.random() * len(_small(path)))
    os.truncate(path, size)
    return f"cut to {size:,} bytes"


def headless(path: Path, chance: random.Random, around: Surroundings) -> str:
    data = _small(path)
    first = int(chance.random() * len(data))
    path.write_bytes(data[first:])
    return f"its first {first:,} bytes are gone"


def repeated(path: Path, chance: random.Random, around: Surroundings) -> str:
    data = _small(path)
    path.write_bytes(data * 2)
    return "stands twice"


def other_encoding(path: Path, chance: random.Random, around: Surroundings) -> str:
    data = _small(path)
    what = chance.choice(("BOM", "UTF-16", "CRLF", "bad UTF-8", "CR", "ESC", "zeros"))
    at = int(chance.random() * len(data))
    path.write_bytes(
        {
            "BOM": b"\xef\xbb\xbf" + data,
            "UTF-16": data.decode("latin-1").encode("utf-16"),
            "CRLF": data.replace(b"\n", b"\r\n"),
            "bad UTF-8": data[:at] + b"\xff\xfe\xc3\x28\xed\xa0\x80" + data[at:],
            "CR": data.replace(b"\n", b"\r"),
            "ESC": data[:at] + b"\x1b]0;x\x07" + data[at:],
            "zeros": bytes(len(data)),
        }[what]
    )
    return what


def deep(path: Path, chance: random.Random, around: Surroundings) -> str:
    depth = chance.choice(_DEPTHS)
    opened, closed = chance.choice((("[", "]"), ('{"a":', "}"), ('[\n{"a":[', "")))
    prefix = "a = " if path.suffix == ".toml" else ""
    _require_file(path)
    path.write_text(prefix + opened * depth + ("1" if closed else "") + closed * depth + "\n")
    return f"{opened!r} {depth:,} times"


def other_content(path: Path, chance: random.Random, around: Surroundings) -> str:
    others = sorted(p for p in around.run.rglob("*") if p.is_file() and p != path)
    other = chance.choice(others)
    _require_file(path)
    path.write_bytes(_small(other))
    return f"has the content of {other.relative_to(around.run)!s}"


def empty(path: Path, chance: random.Random, around: Surroundings) -> str:
    _require_file(path)
    path.write_bytes(b"")
    return "is empty"


def missing(path: Path, chance: random.Random, around: Surroundings) -> str:
    _remove(path)
    return "is gone"


def link(path: Path, chance: random.Random, around: Surroundings) -> str:
    secret, folder = around.outside / "secret.json", around.outside / "folder"
    inside = around.run / chance.choice(_NAMES)
    target = chance.choice(
        (
            *(secret, secret, folder, path, path.with_name("nowhere"), around.outside / "nowhere"),
            *(inside, around.run, around.run.parent, Path("/dev/zero"), Path("/dev/null")),
        )
    )
    _remove(path)
    path.symlink_to(target)
    return f"links to {_told(target, around)}"


def same_inode(path: Path, chance: random.Random, around: Surroundings) -> str:
    """A second name of a file outside: what is written into it in place is written there."""
    _remove(path)
    path.hardlink_to(around.outside / "secret.json")
    return "is a hard link to outside/secret.json"


def special(path: Path, chance: random.Random, around: Surroundings) -> str:
    kind = chance.choice(("FIFO", "FIFO", "socket", "null", "zero", "full", "random"))
    _remove(path)
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        os.mknod(path, stat.S_IFSOCK | 0o666)
    else:
        minor = {"null": 3, "zero": 5, "full": 7, "random": 9}[kind]
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
    return f"is a {kind}"


def folder(path: Path, chance: random.Random, around: Surroundings) -> str:
    _remove(path)
    path.mkdir()
    if chance.random() < 0.5:
        (path / "step_000004.bin").write_bytes(b"x")
        return "is a folder with a file"
    return "is a folder"


def huge(path: Path, chance: random.Random, around: Surroundings) -> str:
    start = b"" if chance.random() < 0.5 or not path.is_file() else _small(path)
    _require_file(path)
    path.write_bytes(start)
    os.truncate(path, HUGE_BYTES)
    return f"goes on with zeros to 2 GB, after {len(start):,} bytes"


def mode(path: Path, chance: random.Random, around: Surroundings) -> str:
    bits = chance.choice((0o000, 0o200, 0o400, 0o100))
    target = chance.choice((path, path, around.run, around.run / "archive", around.run / "tokens"))
    target.chmod(bits)
    return f"mode {bits:o} of {_told(target, around)}"


def stray(path: Path, chance: random.Random, around: Surroundings) -> str:
    name = chance.choice(_STRAYS)
    where = around.run if chance.random() < 0.8 else path.parent
    beside = Path(os.fsdecode(os.path.join(os.fsencode(where), name)))  # noqa: PTH118
    kind = chance.choice(("a file", "a file", "a folder", "a copy", "a FIFO", "a link to itself"))
    if kind == "a folder":
        beside.mkdir()
    elif kind == "a FIFO":
        os.mkfifo(beside)
    elif kind == "a link to itself":
        beside.symlink_to(beside.name)
    else:
        _require_file(beside)
        beside.write_bytes(_small(path) if kind == "a copy" else b"stray")
    return f"beside it {kind}, {name!r}"


def odd_header(path: Path, chance: random.Random, around: Surroundings) -> str:
    """Of a checkpoint: step, number of parameters, or the first weight."""
    checkpoints = sorted(around.run.glob("step_*.bin"))
    target = chance.choice(checkpoints) if checkpoints else path
    data = bytearray(_small(target))
    word = chance.choice((b"\xff" * 4, b"\x00" * 4, b"\x00\x00\xc0\x7f", b"\xff\xff\xff\x7f"))
    at = chance.choice((0, 4, 8))
    data[at : at + 4] = word
    target.write_bytes(data)
    return f"in {target.name} byte {at} ff. {word.hex()}"


_KINDS: Sequence[Mutate] = (
    *(odd_value, flipped, cut, headless, repeated, other_encoding, deep, other_content, empty),
    *(missing, link, same_inode, special, folder, huge, mode, stray, odd_header),
)
_WEIGHTS = (30, 8, 6, 3, 3, 8, 5, 5, 4, 7, 8, 2, 8, 5, 4, 4, 10, 4)
_STRAYS = (
    b"step_000009.bin",
    b"step_999999999999999999999.bin",
    b"step_000000.bin",
    b"step_-00001.bin",
    b"step_5.bin",
    "step_٠٠٠٠١٢.bin".encode(),
    b"step_000006.bin.partial",
    b".step_000006.bin.partial",
    b".state.json.partial",
    b"step_000006.bin\n",
    b"line\nfeed",
    b"\x1b[2J\x1b]0;x\x07",
    b"\xff\xfe\xfd.json",
    b"step_\xff.bin",
    b"n" * 255,
    b"-rf",
    b"archive/phase_001",
    b"archive/phase_002",
    b"archive/phase_999999999999999999999999",
    "archive/phase_٣٣٣".encode(),
    b"archive/.phase_001.partial",
    b"tokens/\xff.bin",
    b".loss.json.torn-1",
    b"pivot.json",
    b"fork.json",
)


def _small(path: Path) -> bytes:
    """What it holds, unless that is huge or would never come to an end."""
    if not path.is_file() or path.stat().st_size > 16 << 20:
        raise ValueError(path)
    return path.read_bytes()


def _require_file(path: Path) -> None:
    """A FIFO that an earlier mutation put there would take the write for ever."""
    if path.exists() and not path.is_file():
        raise ValueError(path)


def _remove(path: Path) -> None:
    """Away with it, whatever it is; a folder goes aside."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(path.name + ".aside"))
    else:
        path.unlink(missing_ok=True)


def _told(path: Path, around: Surroundings) -> str:
    for name, root in (("run", around.run), ("outside", around.outside)):
        if path.is_relative_to(root):
            return f"{name}/{path.relative_to(root)!s}"
    return "runs" if path == around.run.parent else str(path)

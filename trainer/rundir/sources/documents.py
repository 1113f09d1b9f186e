"""Read the documents of a source: the Python library's own text, or what lies in files."""

import difflib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trainer.rundir.config.settings import TEST, TOKENS, SourceSettings
from trainer.rundir.directory import with_names
from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.content import Content, content_of
from trainer.rundir.sources.file_documents import read_file_documents
from trainer.rundir.sources.folders import files_of_folder
from trainer.rundir.sources.left_out import LeftOut
from trainer.rundir.sources.matching import Matched, Walk, found_at, match_files, never
from trainer.rundir.sources.stdlib_text import READERS, stdlib_documents
from trainer.rundir.sources.text_rules import WHOLE_DOCUMENTS, TextRules

PYTHON = "python:"


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put the setting's name before the message of a `SourceError` that is raised inside."""
    try:
        yield
    except SourceError as error:
        section = f"test.{name.removeprefix(TEST)}" if name.startswith(TEST) else f"sources.{name}"
        raise SourceError(f"{section}: {error}") from error


def read_documents(
    source: SourceSettings,
    base: Path,
    *,
    rules: TextRules = WHOLE_DOCUMENTS,
    check: Callable[[], None] = never,
    is_checked: bool = True,
    left_out: LeftOut | None = None,
) -> Iterator[str]:
    """The source's documents in a fixed order, none of them blank.

    `source.path` is `python:docs`, `python:docstrings`, `python:code`, a file, a folder, or a glob
    (`**` goes into folders; files in the order of their names), relative to `base`. JSON lines,
    JSON arrays, Parquet and Arrow files give the text in `source.field` of each record; a few
    records without one are left out. Bytes that are no UTF-8 become U+FFFD. A text
    file of more than 64 KiB is cut into parts of about 16 KiB at blank lines, so that a source
    which is one large file has text to hold out; with pieces in the `rules`, where a piece of
    `pieces_of` ends, so that the pieces are those of the whole file.

    `check` is called all the time and may raise to give up. `is_checked=False` takes what an
    earlier version took for text, too. `left_out` counts what is no text, and names it.

    Raises:
        SourceError: no such file, an unknown `python:` name, a file that is no text, too many
            records without one, no text at all.
    """
    is_empty = True
    left_out = LeftOut(source.max_odd_share) if left_out is None else left_out
    for document in _read_any(source, base, rules, check, is_checked, left_out):
        check()
        if document.strip():
            is_empty = False
            yield document
    left_out.require_few()
    if is_empty:
        raise SourceError(f"{source.path}: there is no text in it")


def fingerprint_of(documents: Iterable[str] | Iterable[bytes]) -> str:
    """sha256 of the documents' sha256s, in order: the identity of a source's text."""
    whole = hashlib.sha256()
    for document in documents:
        data = document.encode() if isinstance(document, str) else document
        whole.update(hashlib.sha256(data).digest())
    return whole.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What can be told of a file without reading it."""

    name: str
    """As the source's path has it: relative to the run where that is."""
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """The files of a source as they are now; none of a `python:` one."""

    stamp: str
    """A sha256 that changes when the files do, by name, size and time.

    That of a `python:` source never changes: a run goes on with the text that it began with
    even where an update of Python brings another.
    """
    files: tuple[FileFacts, ...] = ()
    unreadable: tuple[Path, ...] = ()
    """Folders that could not be looked into."""


def look_at_files(
    source: SourceSettings, base: Path, check: Callable[[], None] = never
) -> SourceFiles:
    """Find the source's files: cheap, no text is read.

    Raises:
        SourceError: no such file, or an unknown `python:` name.
    """
    if source.path.startswith(PYTHON):
        return SourceFiles(stamp=_stamp(source, _stdlib_name(source.path)))
    matched = find_files(source, base, check)
    facts, stamped = [], []
    is_relative = not _expanded(source).is_absolute()
    here = f"{base}".rstrip("/") + "/"
    here_named = with_names(here)
    for file in matched.found:
        check()
        found = file.facts or _looked_at(file.path)
        inside = file.path.removeprefix(here)
        is_here = len(inside) < len(file.path)
        name = inside if is_relative else file.path
        facts.append(FileFacts(name=name, size=found.st_size, mtime_ns=found.st_mtime_ns))
        named = here_named + inside if is_here else file.path
        stamped.append((named, found.st_size, found.st_mtime_ns))
    return SourceFiles(
        stamp=_stamp(source, repr(stamped)), files=tuple(facts), unreadable=matched.unreadable
    )


def _looked_at(path: str) -> os.stat_result:
    try:
        return Path(path).stat()
    except OSError as error:
        raise SourceError(f"{shown(path)}: cannot be read ({error.strerror})") from error


def find_files(source: SourceSettings, base: Path, check: Callable[[], None] = never) -> Matched:
    """The files of a source that is no `python:` one.

    Raises:
        SourceError: there is none.
    """
    relative = _expanded(source)
    path = base / relative
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except OSError as error:
        raise SourceError(f"{shown(path)}: cannot be read ({error.strerror})") from error
    if is_file:
        return Matched(found=(found_at(path),))
    if is_folder and source.holds_tokens:
        raise SourceError(f"{shown(path)}: is a folder; name its files of tokens: …/*.bin")
    if is_folder:
        return files_of_folder(path, base, check)
    matched = match_files(base, str(relative), check)
    if not matched.found:
        unread = "".join(f"; the folder {shown(f)} can't be read" for f in matched.unreadable[:3])
        raise SourceError(f"{shown(path)}: no such file; check the path or the glob{unread}")
    return matched


def anchored_path(path: str, base: Path) -> str:
    """A source's path that means the same from everywhere; relative ones are taken from `base`."""
    if path.startswith(PYTHON):
        return path
    kind = TOKENS if path.startswith(TOKENS) else ""
    return f"{kind}{base.absolute() / Path(path.removeprefix(kind)).expanduser()}"


def has_files(source: SourceSettings, base: Path, check: Callable[[], None] = never) -> bool:
    """Whether there is a file of the source: no further one is looked for.

    Raises `SourceError` for a path that names no place.
    """
    if source.path.startswith(PYTHON):
        return source.path.removeprefix(PYTHON) in READERS
    relative = _expanded(source)
    return (
        next(Walk(check).files(base, str(relative)), None) is not None or (base / relative).exists()
    )


def _expanded(source: SourceSettings) -> Path:
    """The path with a home for its `~`; raises `SourceError` for one that none can be."""
    if "\0" in source.path:
        raise SourceError(f"{shown(source.path)}: holds a NUL, as no path can")
    try:
        return Path(source.path.removeprefix(TOKENS)).expanduser()
    except RuntimeError as error:
        raise SourceError(f"{shown(source.path)}: there is no such user") from error


def contents_of(
    source: SourceSettings,
    base: Path,
    rules: TextRules,
    left_out: LeftOut,
    *,
    check: Callable[[], None] = never,
    is_checked: bool = True,
) -> Iterator[tuple[int, Path, Content]]:
    """The files of a source that is no `python:` one, in their order, and what each is.

    With its number among those of `look_at_files`.

    Of a folder, those that are text. Raises `SourceError`.
    """
    matched = find_files(source, base, check)
    for number, path in enumerate(matched.files):
        check()
        try:
            content = content_of(path, source.field, rules, refuses=is_checked or matched.is_folder)
        except SourceError as error:
            if not matched.is_folder:
                raise
            left_out.add_file(str(error).partition(";")[0])
            continue
        yield number, path, content


def _read_any(
    source: SourceSettings,
    base: Path,
    rules: TextRules,
    check: Callable[[], None],
    is_checked: bool,
    left_out: LeftOut,
) -> Iterator[str]:
    if source.path.startswith(PYTHON):
        yield from stdlib_documents(_stdlib_name(source.path), check)
        return
    files = contents_of(source, base, rules, left_out, check=check, is_checked=is_checked)
    for _, path, content in files:
        yield from read_file_documents(path, content, source.field, rules, left_out)


def _stamp(source: SourceSettings, facts: str) -> str:
    return hashlib.sha256(f"{source.field}\n{facts}".encode("utf-8", "surrogateescape")).hexdigest()


def _stdlib_name(path: str) -> str:
    name = path.removeprefix(PYTHON)
    if name in READERS:
        return name
    nearest = difflib.get_close_matches(name, READERS, n=1, cutoff=0)[0]
    known = ", ".join(PYTHON + known for known in READERS)
    raise SourceError(f"{shown(path)}: unknown; did you mean {PYTHON}{nearest}? (known: {known})")

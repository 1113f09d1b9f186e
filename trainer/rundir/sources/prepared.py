"""What `tokens/` holds of a source, and whether the source's files still are what it was made of.

Prepared text is frozen like the tokenizer: it stays until a pivot, whatever becomes of the files.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote

import orjson

from trainer.rundir.atomic import write_atomic
from trainer.rundir.config.settings import Settings, SourceSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.reading import RECORDS_BYTES, read_file
from trainer.rundir.sources.documents import (
    FileFacts,
    SourceFiles,
    fingerprint_of,
    has_files,
    look_at_files,
    naming,
    read_documents,
)
from trainer.rundir.sources.matching import never
from trainer.rundir.sources.text_rules import TextRules, text_rules
from trainer.rundir.sources.token_files import read_token_documents

TEXT_DIGITS = 16
"""Of a fingerprint, where it is only compared: in file names, `.state.json` and audits."""

COMPARED_BYTES = 64 << 20
"""Of text that a start reads again only to tell that it is another: a second; of more, the sizes
tell."""

_NAMED_FILES = 3


@dataclass(frozen=True, kw_only=True)
class TokenIndex:
    """`index.json` of a source: written last, so the files that it names are whole."""

    stamp: str
    """Of the files when they last were known to hold this text."""
    tokenizer: str
    """sha256 of `tokenizer.json`."""
    dtype: str
    fingerprint: str
    documents: int
    held_out_documents: int
    train_tokens: int
    held_out_tokens: int
    text_bytes: int = 0
    """0: written by a version that did not keep it. With the tokens, the text's bytes a token."""
    left_out: str = ""
    """What of the files is no text, in words."""
    set_aside_tokens: int = 0
    """Held out by hash, but more than a source may hold out: neither trained on nor measured."""
    duplicates: int | None = None
    """Documents with the text of an earlier one of the source; None: nobody counted them."""
    drops_duplicates: bool = False
    """Whether they are left out of the tokens, and of all other counts."""
    apart: str = ""
    """A digest of the test sets that it was kept apart from; empty: there were none."""
    apart_pieces: int = 0
    """Passages that share 13 words in a row with a test set: neither trained on nor held out."""
    apart_documents: int = 0
    """Documents that have such passages."""
    apart_bytes: int = 0
    """Text of the passages."""

    @property
    def file_names(self) -> tuple[str, str]:
        """Train and held-out file; files of another text or tokenizer have other names."""
        digits = self.fingerprint[:TEXT_DIGITS]
        key = f"{self.tokenizer[:16]}-{digits}-{self.dtype[1:]}"
        key += "-once" if self.drops_duplicates else ""
        key += f"-apart-{self.apart}" if self.apart else ""
        return f"{key}.train.bin", f"{key}.held_out.bin"

    @property
    def origins_name(self) -> str:
        """Where each document comes from; an earlier version kept no such file."""
        return self.file_names[0].replace(".train.", ".origins.")

    @property
    def duplicate_words(self) -> str:
        """What became of them; empty where there are none."""
        if not self.duplicates:
            return ""
        fate = "left out" if self.drops_duplicates else "trained on all the same"
        total = self.documents + (self.duplicates if self.drops_duplicates else 0)
        return f"{self.duplicates:,} of {total:,} documents are copies of earlier ones, {fate}"

    @property
    def apart_words(self) -> str:
        """What of it the test sets have, too; empty where there is nothing."""
        if self.apart and not self.text_bytes:
            return "holds tokens: they are not searched for the text of test sets"
        if not self.apart_pieces:
            return ""
        return (
            f"{self.apart_pieces:,} passages ({self.apart_bytes:,} bytes) in"
            f" {self.apart_documents:,} documents share 13 words in a row with a test set, left out"
        )

    def train_rows(self, context: int) -> int:
        """Rows that batches are drawn from."""
        return rows_in(self.train_tokens, context)

    def is_of(self, text: str) -> bool:
        """Whether it is of the text with this fingerprint, or its first digits; all if empty."""
        return self.fingerprint.startswith(text[:TEXT_DIGITS])


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How a source's files differ from those that its tokens were made of."""

    altered: str = ""
    """What is gone or has changed, in words."""
    added: str = ""
    """What is new, in words."""
    files: SourceFiles | None = None
    """The files as they are now, where they were found."""
    is_known: bool = True
    """False: sizes alone say that it is the same text; names or times are others."""

    @property
    def is_same(self) -> bool:
        """Whether they hold the text that was prepared."""
        return not self.altered and not self.added


def origins_path(folder: Path, index: TokenIndex) -> Path:
    """The file that tells where the documents come from."""
    return folder / index.origins_name


def file_names(folder: Path, index: TokenIndex) -> list[str]:
    """Names of a source's files in their order; none of a `python:` source."""
    return [file.name for file in _read_files(_files_path(folder, index)) or ()]


def rows_in(tokens: int, context: int) -> int:
    """How many rows of `context` tokens and one target follow each other without overlap."""
    return max(0, tokens - 1) // context


def token_folder(tokens: Path, source_name: str) -> Path:
    """Where the source's tokens are: a name safe as a folder's, different for each source."""
    return tokens / quote(source_name, safe=" ").replace(".", "%2E")


def is_gone(
    run: RunDirectory, name: str, source: SourceSettings, check: Callable[[], None] = never
) -> bool:
    """Whether neither text nor tokens of the source are there.

    Raises `SourceError` for a path that names no place.
    """
    if read_index(token_folder(run.tokens, name)) is not None:
        return False
    with naming(name):
        return not has_files(source, run.path, check)


def read_index(folder: Path, text: str = "") -> TokenIndex | None:
    """The index of the tokens in the folder, if they are there, of the sizes that it says.

    `text`: the fingerprint, or its first digits, that it must have; tokens of the text of an
    earlier phase are found by it, too.
    """
    earlier = sorted(folder.glob("index-*.json")) if text else []
    for path in (folder / "index.json", *earlier):
        index = _read_whole(path)
        if index is not None and index.is_of(text):
            return index
    return None


def read_indexes(tokens: Path) -> Iterator[tuple[str, TokenIndex]]:
    """Name and index of each source whose tokens are kept."""
    for path in sorted(tokens.glob("*/index.json")):
        index = _read_whole(path)
        if index is not None:
            yield unquote(path.parent.name), index


def write_index(folder: Path, index: TokenIndex, files: SourceFiles) -> None:
    """Make the index the folder's; that of another text stays beside it. Raises `OSError`."""
    before = _read_whole(folder / "index.json")
    if before is not None and before.fingerprint != index.fingerprint:
        kept = folder / f"index-{before.fingerprint[:TEXT_DIGITS]}.json"
        write_atomic(kept, _dumped(before))
    # names of any bytes: orjson takes UTF-8 only
    listed = json.dumps([[f.name, f.size, f.mtime_ns] for f in files.files], indent=0)
    write_atomic(_files_path(folder, index), listed.encode())
    write_atomic(folder / "index.json", _dumped(replace(index, stamp=files.stamp)))


def drift_of(
    source: SourceSettings,
    base: Path,
    folder: Path,
    index: TokenIndex,
    *,
    rules: TextRules,
    check: Callable[[], None] = never,
    reads: bool = True,
    read_bytes: int | None = None,
) -> Drift:
    """Compare the source's files with those that the tokens in the folder were made of.

    By name, size and time. Where only names and times differ, as after a copy to another disk,
    the text itself is read and compared, unless `reads` is false, or there is more of it than
    `read_bytes`: then they are taken to be alike.
    `check` is called all the time and may raise to give up.
    """
    try:
        now = look_at_files(source, base, check)
    except SourceError as error:
        return Drift(altered=str(error))
    if now.stamp == index.stamp:
        return Drift(files=now)
    before = _read_files(_files_path(folder, index))
    if before == now.files:
        return Drift(files=now)
    if before is not None and [f.size for f in before] != [f.size for f in now.files]:
        return replace(_compare(before, now.files), files=now)
    n_bytes = sum(file.size for file in now.files)
    if not reads or (read_bytes is not None and n_bytes > read_bytes):
        return Drift(files=now, is_known=False)
    try:
        text = _fingerprint(source, base, rules, check)
    except SourceError as error:
        return Drift(altered=str(error), files=now)
    if text == index.fingerprint:
        return Drift(files=now)
    return Drift(altered=_touched(before or (), now.files), files=now)


def holds_prepared_text(
    run: RunDirectory,
    settings: Settings,
    name: str,
    *,
    text: str = "",
    reads: bool = True,
    check: Callable[[], None] = never,
) -> bool:
    """Whether a source's path leads to the text that its tokens were made of.

    `text`: its fingerprint, or the first digits, if known. Nothing to compare with is no. What
    only reading the text would tell is yes, unless `reads`.
    """
    folder = token_folder(run.tokens, name)
    index = read_index(folder, text)
    source, rules = settings.sources[name], text_rules(settings)
    if index is not None:
        drift = drift_of(
            source,
            run.path,
            folder,
            index,
            rules=rules,
            check=check,
            reads=reads,
        )
        return drift.is_same
    if not text or not reads:
        return bool(text)
    try:
        return _fingerprint(source, run.path, rules, check).startswith(text)
    except SourceError:
        return False


def _fingerprint(
    source: SourceSettings, base: Path, rules: TextRules, check: Callable[[], None]
) -> str:
    if source.holds_tokens:
        return fingerprint_of(read_token_documents(source, base, rules, check))
    return fingerprint_of(read_documents(source, base, rules=rules, check=check, is_checked=False))


def _compare(before: tuple[FileFacts, ...], now: tuple[FileFacts, ...]) -> Drift:
    known, found = {f.name: f for f in before}, {f.name: f for f in now}
    altered = [f"{shown(name)} is gone" for name in known if name not in found]
    for name in known.keys() & found.keys():
        was, file = known[name], found[name]
        if was.size != file.size:
            altered.append(f"{shown(name)} has {file.size:,} bytes instead of {was.size:,}")
        elif was.mtime_ns != file.mtime_ns:
            altered.append(f"{shown(name)} was written to")
    added = [f"{shown(name)} is new" for name in found if name not in known]
    return Drift(altered=_named(sorted(altered)), added=_named(added))


def _touched(before: tuple[FileFacts, ...], now: tuple[FileFacts, ...]) -> str:
    """Which files can hold another text, of as many bytes."""
    others = [file for file in now if file not in before] or now
    return _named([f"{shown(file.name)} holds another text" for file in others])


def _named(words: list[str]) -> str:
    more = len(words) - _NAMED_FILES
    return ", ".join(words[:_NAMED_FILES]) + (f" and {more:,} more" if more > 0 else "")


def _read_whole(path: Path) -> TokenIndex | None:
    try:
        index = TokenIndex(**orjson.loads(read_file(path)))
        item_bytes = int(index.dtype[2:])
        counts = index.train_tokens, index.held_out_tokens
        for name, count in zip(index.file_names, counts, strict=True):
            if (path.parent / name).stat().st_size != count * item_bytes:
                return None
    except (OSError, ValueError, TypeError):  # missing, torn, or of another version
        return None
    return index


def _dumped(index: TokenIndex) -> bytes:
    return orjson.dumps(asdict(index), option=orjson.OPT_INDENT_2)


def _files_path(folder: Path, index: TokenIndex) -> Path:
    return folder / f"files-{index.fingerprint[:TEXT_DIGITS]}.json"


def _read_files(path: Path) -> tuple[FileFacts, ...] | None:
    """None: a version that kept no list wrote the index."""
    try:
        listed = json.loads(read_file(path, at_most=RECORDS_BYTES))
        return tuple(FileFacts(name=n, size=size, mtime_ns=t) for n, size, t in listed)
    except (OSError, ValueError, TypeError, RecursionError):
        return None

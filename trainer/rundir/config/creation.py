"""Making a new run directory: `run.toml` appears whole, once, or not at all."""

import contextlib
import difflib
import glob
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from trainer.rundir.atomic import create_exclusively
from trainer.rundir.config.presets import DEFAULT_SOURCES, PRESETS
from trainer.rundir.config.run_toml import LOST_SETTINGS, load_settings, render_new_run
from trainer.rundir.config.settings import (
    LEARNED_TOKENIZER,
    TOKENS,
    SourceSettings,
    TokenizerSettings,
)
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import is_utf_8, shown
from trainer.rundir.outcomes import SettingsError, SourceError
from trainer.rundir.runs import why_no_run
from trainer.rundir.sources.file_documents import require_documents
from trainer.rundir.sources.folders import require_folder
from trainer.rundir.sources.matching import Walk
from trainer.rundir.sources.text_rules import WHOLE_DOCUMENTS
from trainer.rundir.sources.token_files import token_files
from trainer.rundir.vocabulary import read_own_tokenizer

_LOOKED_INTO_FILES = 100
"""Of a source, when a run is made: a moment's work. The start looks into all."""


def ensure_run(
    path: Path,
    *,
    preset: str | None = None,
    sources: Mapping[str, str] | None = None,
    command: tuple[str, ...] = (),
    tokenizer: TokenizerSettings = LEARNED_TOKENIZER,
    tests: Mapping[str, str] | None = None,
) -> tuple[RunDirectory, bool]:
    """The run at `path`, made if it isn't there; and whether it was made now.

    `sources` are name → path or glob, kept absolute so that the run doesn't depend on where it
    is resumed from; `tests` are the same of test sets. So is the path of one's own `tokenizer`;
    the model gets a row for each of its entries. Raises `SettingsError`; nothing half-made stays
    then.
    """
    run = RunDirectory(path)
    if tokenizer.path:
        tokenizer = replace(tokenizer, path=_absolute_file(tokenizer.path))
    paths = {name: _absolute(source) for name, source in (sources or {}).items()}
    apart = {name: _absolute(test) for name, test in (tests or {}).items()}
    try:
        if not run.settings.exists() and _make(run, preset, paths, command, tokenizer, apart):
            return run, True
    except OSError as error:
        raise SettingsError(f"{path}: a run can't be made there: {error.strerror}") from error
    _check_same(run, preset, paths, command)
    _check_same_tokenizer(run, tokenizer)
    _check_same_tests(run, apart)
    return run, False


def _make(
    run: RunDirectory,
    preset: str | None,
    paths: Mapping[str, str],
    command: tuple[str, ...],
    tokenizer: TokenizerSettings,
    tests: Mapping[str, str],
) -> bool:
    """Whether this call made it; `False`: another one was quicker."""
    if preset is not None and preset not in PRESETS:
        raise SettingsError(f"--preset: {preset!r} is none of {', '.join(PRESETS)}")
    for name, path in paths.items():
        _check_source("--source", name, path)
    for name, path in tests.items():
        _check_source("--test", name, path)
    sources = {name: SourceSettings(path=p) for name, p in (paths or DEFAULT_SOURCES).items()}
    vocab_size = None
    if tokenizer.path:
        vocab_size = read_own_tokenizer(tokenizer, Path())[1].entries
    text = render_new_run(
        preset or "demo",
        sources,
        command,
        tokenizer=tokenizer,
        vocab_size=vocab_size,
        tests={name: SourceSettings(path=path) for name, path in tests.items()},
    )
    _check_empty(run)
    missing = [folder for folder in (run.path, *run.path.parents) if not folder.exists()]
    try:
        run.path.mkdir(parents=True, exist_ok=True)
        create_exclusively(run.settings, text.encode())
    except OSError as error:
        if isinstance(error, FileExistsError) and run.settings.exists():
            return False
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, FileExistsError):
            raise SettingsError(f"{run.path}: is a file; a run is a directory") from None
        raise
    return True


def _check_empty(run: RunDirectory) -> None:
    """A new run takes a directory of its own, and never the place of one that lost `run.toml`."""
    if not run.path.is_dir():
        return
    if run.loss.exists() or next(run.path.glob("step_*.bin"), None):
        raise SettingsError(f"{run.settings}: {LOST_SETTINGS}")
    own = {run.log.name, run.actions.name, run.lock.name}
    is_empty = all(path.name in own or _is_partial(path) for path in run.path.iterdir())
    if not is_empty and not run.settings.exists():
        why = why_no_run(run.path) or f"{shown(run.path)}: is no run"
        raise SettingsError(f"{why}; a new run takes a new or an empty directory")


def _is_partial(path: Path) -> bool:
    """What a creation that was killed left behind."""
    return path.name.endswith(".partial")


def _check_same(
    run: RunDirectory, preset: str | None, paths: Mapping[str, str], command: tuple[str, ...]
) -> None:
    """The command that made a run resumes it; one that asks for something else is refused."""
    settings = load_settings(run.settings)
    if preset is not None and preset != settings.preset:
        raise SettingsError(
            f"--preset {preset}: {run.path} was made with preset {settings.preset!r}"
            f" and keeps it; for another one name another run directory"
        )
    for name, path in paths.items():
        if name not in settings.sources or settings.sources[name].path != path:
            raise SettingsError(
                f"--source {name}={path}: not so in {run.settings};"
                " the sources of a run change by a pivot only"
            )
    if command and command != settings.trainer.command:
        raise SettingsError(f"{' '.join(command)}: trainer.command is another in {run.settings}")


def _check_same_tokenizer(run: RunDirectory, tokenizer: TokenizerSettings) -> None:
    if tokenizer.path and tokenizer != load_settings(run.settings).tokenizer:
        raise SettingsError(
            f"--tokenizer {shown(tokenizer.path)}: not so in {run.settings}; a run keeps its"
            " tokenizer: the weights were made by it"
        )


def _check_same_tests(run: RunDirectory, tests: Mapping[str, str]) -> None:
    known = load_settings(run.settings).test if tests else {}
    for name, path in tests.items():
        if name not in known or known[name].path != path:
            raise SettingsError(
                f"--test {shown(name)}={shown(path)}: not so in {run.settings}; a run keeps its"
                " test sets: its text was prepared apart from them"
            )


def _absolute_file(path: str) -> str:
    return path if path.startswith("tiktoken:") else str(Path(path).expanduser().absolute())


def _absolute(path: str) -> str:
    if path.startswith("python:") or not path.strip():
        return path
    if path.startswith(TOKENS):
        return TOKENS + _absolute(path.removeprefix(TOKENS))
    here = str(Path.cwd())
    base = Path(glob.escape(here) if glob.has_magic(path) else here)
    try:
        return str(base / Path(path).expanduser())
    except RuntimeError:  # no such user: a name that begins with ~
        return str(base / path)


def _check_source(option: str, name: str, path: str) -> None:
    source = f"{option} {shown(name)}={shown(path)}"
    if not is_utf_8(f"{Path.cwd()}{name}{path}"):
        raise SettingsError(f"{source}: is no UTF-8, as run.toml has to be; name it by a pattern")
    if path.startswith("python:"):
        known = list(DEFAULT_SOURCES.values())
        if path not in known:
            nearest = difflib.get_close_matches(path, known, n=1, cutoff=0.4)
            hint = f"did you mean {nearest[0]}?" if nearest else f"known: {', '.join(known)}"
            raise SettingsError(f"{source}: no such source; {hint}")
    elif not name or not path.removeprefix(TOKENS).strip():
        raise SettingsError(f"{source}: write it as NAME=PATH")
    else:
        try:
            if path.startswith(TOKENS):
                for _ in token_files(SourceSettings(path=path), Path()):
                    pass
            else:
                _check_files(source, Path(path))
        except SourceError as error:
            raise SettingsError(f"{source}: {error}") from error


def _check_files(source: str, path: Path) -> None:
    if path.is_dir():
        require_folder(path)
        return
    files = list(islice(_matching(str(path)), _LOOKED_INTO_FILES))
    if not files:
        raise SettingsError(f"{source}: no such file; check the path or the glob")
    for file in files:
        require_documents(file, SourceSettings(path=str(path)).field, WHOLE_DOCUMENTS)


def _matching(pattern: str) -> Iterator[Path]:
    if Path(pattern).is_file():
        yield Path(pattern)
        return
    yield from Walk().files(Path(), pattern)

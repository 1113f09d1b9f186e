"""Making a new run directory: `run.toml` appears whole, once, or not at all."""

import difflib
from collections.abc import Mapping
from pathlib import Path

from trainer.rundir.atomic import create_exclusively
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.presets import DEFAULT_SOURCES, PRESETS
from trainer.rundir.run_toml import load_settings, render_new_run
from trainer.rundir.settings import SourceSettings


def ensure_run(
    path: Path,
    *,
    preset: str | None = None,
    sources: Mapping[str, str] | None = None,
    command: tuple[str, ...] = (),
) -> tuple[RunDirectory, bool]:
    """The run at `path`, made if it isn't there; and whether it was made now.

    `sources` are name → path or glob, kept absolute so that the run doesn't depend on where it
    is resumed from. Raises `SettingsError`; nothing half-made stays then.
    """
    run = RunDirectory(path)
    if run.settings.exists():
        _check_same(run, preset, sources or {})
        return run, False
    if preset is not None and preset not in PRESETS:
        raise SettingsError(f"--preset: {preset!r} is none of {', '.join(PRESETS)}")
    text = render_new_run(preset or "demo", _sources(sources or DEFAULT_SOURCES), command)
    try:
        path.mkdir(parents=True, exist_ok=True)
        create_exclusively(run.settings, text.encode())
    except FileExistsError:
        if not run.settings.exists():
            raise SettingsError(f"{path}: is a file; a run is a directory") from None
        return run, False
    except OSError as error:
        raise SettingsError(f"{path}: a run can't be made there: {error.strerror}") from error
    return run, True


def _check_same(run: RunDirectory, preset: str | None, sources: Mapping[str, str]) -> None:
    """The command that made a run resumes it; one that asks for something else is refused."""
    settings = load_settings(run.settings)
    if preset is not None and preset != settings.preset:
        raise SettingsError(
            f"--preset {preset}: {run.path} was made with preset {settings.preset!r}"
            f" and keeps it; for another one name another run directory"
        )
    for name, source in _sources(sources).items():
        if settings.sources.get(name) != source:
            raise SettingsError(
                f"--source {name}={source.path}: not so in {run.settings};"
                " the sources of a run change by a pivot only"
            )


def _sources(paths: Mapping[str, str]) -> dict[str, SourceSettings]:
    return {name: SourceSettings(path=_absolute(name, path)) for name, path in paths.items()}


def _absolute(name: str, path: str) -> str:
    if path.startswith("python:"):
        known = list(DEFAULT_SOURCES.values())
        if path not in known:
            nearest = difflib.get_close_matches(path, known, n=1, cutoff=0.4)
            hint = f"; did you mean {nearest[0]}?" if nearest else f"; known: {', '.join(known)}"
            raise SettingsError(f"--source {name}={path}: no such source{hint}")
        return path
    absolute = Path(path).expanduser().absolute()
    if not any(Path(absolute.anchor).glob(str(absolute.relative_to(absolute.anchor)))):
        raise SettingsError(f"--source {name}={path}: no file matches {absolute}")
    return str(absolute)

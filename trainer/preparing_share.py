"""`andrea-trainer prepare RUN --part 3/8`: one of several machines, over a disk that they share."""

import re
import time
from collections.abc import Mapping

from trainer.persistence.hold import Hold
from trainer.persistence.output import print_line
from trainer.proxy.feed import open_tokenizer
from trainer.proxy.preparation.prepare import Preparation
from trainer.proxy.preparation.shares import Share
from trainer.proxy.test_sets import open_tests, rules_apart
from trainer.proxy.tokens import preparation_of
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.directory import HeldDirectory
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import LockedError, SettingsError
from trainer.rundir.sources.documents import naming
from trainer.rundir.sources.prepared import read_index
from trainer.rundir.start_checks import look_ahead, require_untouched
from trainer.signals import Signals

_AUTO = "auto"
_MOST_SHARES = 4096
_WAIT_SECONDS = 1.0
_LINE_SECONDS = 60.0


def share_of(part: str, environment: Mapping[str, str]) -> Share:
    """What `--part` says, `3/8`, or where that is `auto` the environment; raises `SettingsError`.

    The environment is not taken unasked: an array of jobs may as well prepare a run each.
    """
    told = _by_environment(environment) if part == _AUTO else part
    match = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", told)
    share = Share(int(match[1]), int(match[2])) if match else Share(0, 0)
    if not 1 <= share.number <= share.of <= _MOST_SHARES:
        raise SettingsError(f"--part: {told!r} is no part as 3/8 is, of at most {_MOST_SHARES}")
    return share


def _by_environment(environment: Mapping[str, str]) -> str:
    def number(name: str, default: int) -> int:
        value = environment.get(name, "")
        return int(value) if value.isdecimal() else default

    if "SLURM_ARRAY_TASK_ID" in environment:
        first = number("SLURM_ARRAY_TASK_MIN", 0)
        step = max(1, number("SLURM_ARRAY_TASK_STEP", 1))
        place = (number("SLURM_ARRAY_TASK_ID", -1) - first) // step
        return f"{place + 1}/{number('SLURM_ARRAY_TASK_COUNT', 0)}"
    if "RANK" in environment and "WORLD_SIZE" in environment:
        return f"{number('RANK', -1) + 1}/{number('WORLD_SIZE', 0)}"
    raise SettingsError(
        "--part auto: neither SLURM_ARRAY_TASK_ID nor RANK and WORLD_SIZE is set; say which part"
        " this is: --part 3/8"
    )


def prepare_share(run: RunDirectory, share: Share, signals: Signals) -> list[str]:
    """Prepare a share of each source; what is missing now of the others', in words.

    The tokenizer is made by whoever comes first, under the run's lock; all others wait. Raises
    `StopRequested`, and the errors of `outcomes`.
    """
    said_at = time.monotonic()

    def progress(fraction: float, what: str) -> None:
        nonlocal said_at
        signals.stop_if_asked()
        if time.monotonic() - said_at >= _LINE_SECONDS:
            said_at = time.monotonic()
            print_line(f"part {share.number}/{share.of}: {what}")

    with hold_when_free(run, signals) as hold:
        require_untouched(hold.run)
        _require_new(hold.run, signals)
        settings = load_settings(hold.run.settings)
        tokenizer = open_tokenizer(hold.run, settings, None, 1, progress)
        tests = open_tests(hold.run, settings, tokenizer, None, progress)
    held = HeldDirectory(run.path)  # by the same way as the one who joins: paths are compared
    missing = []
    rules = rules_apart(held.run, settings, tests)
    preparations = [
        preparation_of(
            name,
            source,
            run=held.run,
            tokenizer=tokenizer,
            vocab_size=settings.model.vocab_size,
            progress=progress,
            rules=rules,
        )
        for name, source in settings.sources.items()
    ]
    for preparation in preparations:
        if read_index(preparation.folder) is None:
            folder = share.folder(preparation.folder)
            folder.mkdir(parents=True, exist_ok=True)
            lock = TrainerLock(folder / "lock.partial")  # two of the same number would mix
            try:
                with naming(preparation.name):
                    preparation.run_share(share)
            finally:
                lock.release()
    for preparation in preparations:
        missing += _missing(preparation, share.of)
    return missing


def hold_when_free(run: RunDirectory, signals: Signals) -> Hold:
    """The run's lock, waited for; raises `StopRequested`."""
    is_said = False
    while True:
        signals.stop_if_asked()
        try:
            return Hold(run)
        except LockedError as error:
            if not is_said:
                print_line(f"waiting: {error}")
            is_said = True
            time.sleep(_WAIT_SECONDS)


def _require_new(run: RunDirectory, signals: Signals) -> None:
    if run.loss.exists():
        raise SettingsError(
            f"{run.path}: was trained already; only what a new run begins with is prepared in"
            " parts: prepare it without --part"
        )
    if refusals := look_ahead(run, check=signals.stop_if_asked).refusals:
        raise refusals[0]


def _missing(preparation: Preparation, of: int) -> list[str]:
    if read_index(preparation.folder) is not None:
        return []
    return [f"{n}/{of} of {preparation.name}" for n in preparation.missing(of)]

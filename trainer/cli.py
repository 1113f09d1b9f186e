"""`andrea-trainer RUN`: arguments, the run's lock, and how each outcome becomes an exit code."""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trainer import __version__
from trainer.crew.where import where_am_i
from trainer.persistence.hold import Hold
from trainer.persistence.output import give_up_unwritten, print_line
from trainer.persistence.reporter import Reporter
from trainer.proxy.progress import is_work_left
from trainer.rundir.config.continuity import state_left_behind
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.presets import PRESETS
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.memory import memory_of_self
from trainer.rundir.outcomes import (
    EXIT_WORDS,
    Exit,
    RunError,
    SettingsError,
    after_word,
)
from trainer.rundir.start_checks import look_ahead, require_untouched
from trainer.rundir.state import State
from trainer.signals import Signals, StopRequested

PREPARE = "prepare"
_STOPPED_PREPARING = (
    "stopped while preparing: what is prepared stays, and the next start goes on from there"
)

_END = {
    Exit.FINISHED: "finished",
    Exit.HELD: "held",
    Exit.INTERRUPTED: "stopped",
    Exit.TERMINATED: "stopped",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trainer in the foreground; returns its exit code. Handlers come first."""
    signals = Signals()
    signals.install()
    try:
        code = _run(argv, signals)
    finally:
        give_up_unwritten()
    if is_work_left():
        os._exit(code)
    return code


def _run(argv: Sequence[str] | None, signals: Signals) -> int:
    arguments = _parse(argv)
    run = RunDirectory(arguments.run)
    try:
        if not arguments.prepares and where_am_i(os.environ).follows:
            return _follow(signals)
        _find_run(run, arguments.preset)
        if arguments.part is not None:
            return _prepare_share(run, arguments.part, signals)
        with Hold(run) as hold:
            if arguments.prepares:
                return _live(hold, signals, prepares=True)
            return _live(
                hold,
                signals,
                until=arguments.until,
                ranks=arguments.ranks,
                limit_seconds=arguments.limit_seconds,
            )
    except RunError as error:
        print_line(f"andrea-trainer: {error}", to=sys.stderr)
        return error.exit_code
    except OSError as error:  # of the lock: all later ones are told by the run's own errors
        what = f"{error.filename or run.lock}: {error.strerror}"
        print_line(f"andrea-trainer: {what}", to=sys.stderr)
        return Exit.SAVE_FAILED


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == [PREPARE]:
        return _parse_prepare(words[1:])
    parser = argparse.ArgumentParser(
        prog="andrea-trainer",
        usage="%(prog)s [options] RUN\n       %(prog)s prepare [options] RUN",
        description="Train the run in the directory RUN, from its newest checkpoint on; prepare:"
        " make the tokens of its sources, and train nothing.",
        epilog="SIGTERM: finish the step, write a checkpoint, exit. SIGUSR1: write one, go on."
        " A directory that is named prepare is reached as ./prepare.",
    )
    _add_run(parser)
    parser.add_argument(
        "--until", type=int, metavar="STEP", help="train no further than to this step, save, exit 0"
    )
    parser.add_argument(
        "--for",
        type=_seconds,
        dest="limit_seconds",
        metavar="TIME",
        help="end by itself, saved, within this time, as 11h50m; exit 143",
    )
    parser.add_argument(
        "--ranks", type=int, metavar="N", help="train on so many GPUs, instead of train.ranks"
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.set_defaults(prepares=False, part=None)
    return parser.parse_args(words)


def _seconds(text: str) -> float:
    from trainer.deadline import seconds_of  # noqa: PLC0415

    try:
        return seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parse_prepare(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"andrea-trainer {PREPARE}",
        description="Make the tokenizer and the tokens of all sources of a run, and train nothing.",
        epilog="SIGTERM, SIGINT: stop; what is done stays, and the next start goes on from there.",
    )
    _add_run(parser)
    parser.add_argument(
        "--part",
        metavar="N/OF",
        help="on one of several machines that share the run's directory and the text, at the same"
        " paths: prepare only every OF-th piece, from the N-th on; whoever is last puts all"
        " together. auto: by SLURM_ARRAY_TASK_ID, or RANK and WORLD_SIZE",
    )
    parser.set_defaults(prepares=True, until=None)
    return parser.parse_args(words)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="the run directory")
    parser.add_argument(
        "--preset", choices=list(PRESETS), help="make the run with this preset if it isn't there"
    )


def _find_run(run: RunDirectory, preset: str | None) -> None:
    """The run is there, or is made with the preset."""
    if preset is None and not run.settings.exists():
        raise SettingsError(
            f"{run.settings}: not there; name an existing run, or make one with --preset"
        )
    ensure_run(run.path, preset=preset)


def _follow(signals: Signals) -> Exit:
    """One of several ranks, but not the one that leads: it needs no run, only torch."""
    signals.ignore()
    from trainer.together import follow  # noqa: PLC0415

    return follow(where_am_i(os.environ))


def _prepare_share(run: RunDirectory, part: str, signals: Signals) -> Exit:
    """A share of what `prepare` does, without the run's lock but for a moment before and after."""
    from trainer.preparing_share import hold_when_free, prepare_share, share_of  # noqa: PLC0415

    try:
        missing = prepare_share(run, share_of(part, os.environ), signals)
        if missing:
            print_line(f"part {part} is done; missing: {', '.join(missing)}")
            return Exit.FINISHED
        with hold_when_free(run, signals) as hold:
            return _live(hold, signals, prepares=True)
    except StopRequested:
        print_line(_STOPPED_PREPARING)
        return signals.stop_exit or Exit.TERMINATED


def _live(
    hold: Hold,
    signals: Signals,
    *,
    prepares: bool = False,
    until: int | None = None,
    ranks: int | None = None,
    limit_seconds: float | None = None,
) -> Exit:
    """The whole life of a trainer that holds the run; its end is in the state, in words."""
    run = hold.run
    require_untouched(run)
    before = state_left_behind(run)
    reporter = Reporter(run.state, first_state(run, before))
    try:
        if prepares:
            outcome = prepare(run, before, reporter, signals)
            if outcome is Exit.FINISHED:
                return outcome
        else:
            outcome = start(
                run,
                before,
                reporter,
                signals,
                hold=hold,
                until=until,
                ranks=ranks,
                limit_seconds=limit_seconds,
            )
    except RunError as error:
        _end(reporter, error.exit_code, str(error), is_said=False)  # _run says it, on stderr
        raise
    except Exception as error:  # noqa: BLE001 - the edge: whatever it was, the state must tell
        _end(reporter, Exit.ERROR, f"{type(error).__name__}: {error}")
        print_line(traceback.format_exc(), to=sys.stderr)
        return Exit.ERROR
    _end(reporter, outcome, reporter.state.reason or EXIT_WORDS[outcome])
    return outcome


def first_state(run: RunDirectory, before: State | None) -> State:
    """What a start begins with: what the one before left, but for what is that trainer's own.

    Where the run stands, and what it was trained with, stays on file until training begins: a
    start that was refused, stopped or failed proves nothing.
    """
    phase, pid, memory = run.current_phase(), os.getpid(), memory_of_self()
    if before is None:
        return State(phase=phase, pid=pid, memory=memory)
    save = before.last_save
    return replace(
        before,
        doing="",
        detail="",
        preparing=None,
        ranks=(),
        takes_signals=False,
        pid=pid,
        phase=phase,
        phase_start_step=before.phase_start_step if before.phase == phase else before.step,
        last_save=None if save is None else replace(save, requests=0),  # counted anew each start
        memory=memory,
        alarms=(),
        notes=(),
        exit_code=None,
        reason="",
    )


def prepare(run: RunDirectory, before: State | None, reporter: Reporter, signals: Signals) -> Exit:
    """Prepare the sources under a lock that is held already; a stop is not yet in the state."""
    # what reads and encodes text takes a moment to load: handlers and lock come first
    from trainer.preparing import prepare_run  # noqa: PLC0415

    try:
        settings = _look_ahead(run, reporter, signals, "preparing the sources")
        if settings.trainer.command:
            raise SettingsError(
                f"{run.settings}: trainer.command names another trainer, which prepares its own"
            )
        return prepare_run(run, settings, before=before, reporter=reporter, signals=signals)
    except StopRequested:
        reporter.now(reason=_STOPPED_PREPARING)
        return signals.stop_exit or Exit.TERMINATED


def start(
    run: RunDirectory,
    before: State | None,
    reporter: Reporter,
    signals: Signals,
    *,
    hold: Hold | None = None,
    until: int | None = None,
    ranks: int | None = None,
    limit_seconds: float | None = None,
) -> Exit:
    """Train under a lock that is held already; the end is not yet in the state.

    `hold`: looked at in each step. `until`: a step to end after, before the run's last. `ranks`:
    so many instead of `train.ranks`. `limit_seconds`: to end by itself within so long.
    """
    try:
        settings = _look_ahead(run, reporter, signals, "loading torch")
        if ranks is not None:
            settings = replace(settings, train=replace(settings.train, ranks=ranks))
        return _train(run, settings, before, reporter, signals, hold, until, limit_seconds)
    except StopRequested:
        reporter.now(reason="stopped while starting; nothing was trained, nothing to save")
        return signals.stop_exit or Exit.TERMINATED


def _look_ahead(run: RunDirectory, reporter: Reporter, signals: Signals, detail: str) -> Settings:
    """The settings of a start that nothing refuses; raises `RunError`, `StopRequested`."""
    ahead = look_ahead(run, check=signals.stop_if_asked)
    if ahead.refusals:
        raise ahead.refusals[0]
    settings = load_settings(run.settings)
    reporter.now(
        doing="starting",
        detail=detail,
        takes_signals=True,
        total_steps=settings.train.total_steps,
    )
    for note in ahead.notes:
        reporter.note(note)
    return settings


def _train(
    run: RunDirectory,
    settings: Settings,
    before: State | None,
    reporter: Reporter,
    signals: Signals,
    hold: Hold | None,
    until: int | None,
    limit_seconds: float | None,
) -> Exit:
    # torch takes seconds to load: handlers, lock and settings come first
    from trainer.session import run_trainer  # noqa: PLC0415

    return run_trainer(
        run,
        settings,
        before=before,
        reporter=reporter,
        signals=signals,
        hold=hold,
        until=until,
        limit_seconds=limit_seconds,
    )


def _end(reporter: Reporter, code: Exit, reason: str, *, is_said: bool = True) -> None:
    doing = _END.get(code, "failed")
    reporter.now(
        doing=doing,
        detail="",
        preparing=None,
        takes_signals=False,
        exit_code=int(code),
        reason=reason,
    )
    if is_said:
        reporter.say(f"{doing}: {after_word(doing, reason)}")

"""`andrea-console`: arguments, collaborators, errors to exit codes."""

import argparse
import difflib
import gc
import io
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from console.follow.follower import Follower, reasons_to_look
from console.follow.operator_paths import memory_path
from console.follow.read_ahead import ReadAhead
from console.fork.branches import Branches
from console.operations.operations import Operations
from console.operations.restarts import Restarter, restarting
from console.pivot.driver import PivotDriver
from console.pivot.wizard_files import WizardFiles
from console.verbs.table import VERBS
from console.verbs.verb import say
from console.view.cached_file import CachedFile, read_settings
from trainer import __version__
from trainer.rundir.config.creation import ensure_run
from trainer.rundir.config.presets import PRESETS
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.config.settings import SEPARATOR, TokenizerSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import shown
from trainer.rundir.outcomes import Exit, RunError, SettingsError
from trainer.rundir.runs import runs_in, why_no_run

_DESCRIPTION = """\
Watch and steer the training run in the directory RUN. If it isn't there, it is made, and its
trainer started. A run that is there is shown as it is: a live trainer is adopted, and none is
started but by r or --launch. Leaving the console never ends the training.
"""
_EPILOG = """\
A run directory named like a verb is reached as ./status. After -- comes the command of another
trainer: it finds the run directory in $ANDREA_RUN and runs in the current directory.
"""

_ALIKE = 0.75
"""From here on a word is a mistyped other one (difflib's ratio)."""

_UNREAD = 141
"""How a shell tells of a tool whose reader was gone: 128 + SIGPIPE."""


def main(argv: Sequence[str] | None = None, *, ahead: ReadAhead | None = None) -> int:
    """Run one command; returns its exit code. `ahead` reads the run's history already."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name that is no UTF-8 comes out as its bytes
        sys.stdout.reconfigure(errors="surrogateescape")
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv), ahead)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would try to write what is left once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _UNREAD
    return code


def _run(arguments: list[str], ahead: ReadAhead | None) -> int:
    try:
        if arguments and arguments[0] in VERBS:
            return _run_verb(arguments)
        return _run_console(arguments, ahead)
    except RunError as error:
        say(f"andrea-console: {error}")
        return int(error.exit_code)
    except BrokenPipeError:
        raise
    except OSError as error:  # of a file that a verb needs: what it is, and why it can't be had
        say(f"andrea-console: {error.filename or arguments[0]}: {error.strerror or error}")
        return int(Exit.ERROR)
    except KeyboardInterrupt:
        return int(Exit.INTERRUPTED)
    except SystemExit as end:  # argparse has printed why
        return end.code if isinstance(end.code, int) else int(Exit.USAGE)


def _run_verb(arguments: list[str]) -> int:
    name = arguments[0]
    verb = VERBS[name]
    parser = argparse.ArgumentParser(prog=f"andrea-console {name}", description=verb.help)
    parser.add_argument("run", type=Path, metavar="RUN", help="the run directory")
    verb.add_arguments(parser)
    parsed, unknown = parser.parse_known_args(arguments[1:])
    if unknown:
        parser.error(_about_options(parser, unknown))
    if not parsed.run.is_dir():
        raise SettingsError(f"{shown(parsed.run)}: there is no run of that name")
    if why := why_no_run(parsed.run):
        runs = runs_in(parsed.run)
        if verb.act_on_many is None or not runs:
            raise SettingsError(why)
        say(f"andrea-console: {why}")
        return verb.act_on_many(runs, parsed)
    return verb.act(RunDirectory(parsed.run), parsed)


def _run_console(arguments: list[str], ahead: ReadAhead | None) -> int:
    parsed, command = _parse_console(arguments)
    if not has_terminal():
        raise SettingsError("the console needs a terminal; for scripts: andrea-console status RUN")
    run, is_new = _find_run(parsed, command)
    operations = Operations(run, read_only=parsed.read_only, command=command)
    follower = Follower(run, operations)
    restarter = None if parsed.read_only else _restarter(operations, parsed)
    if parsed.launch or (is_new and not parsed.no_launch):
        load_settings(run.settings)
        started = operations.adopt_or_launch()
        follower.opening_note = "" if started.ok else started.message
    if restarter is not None:
        restarter.consider()  # a crash that is there has its pause, whoever opens a console
    follower.read_ahead = ahead
    # Textual takes a moment to load, which verbs and mistakes need not wait for.
    gc.disable()  # it stays: looking for garbage in it takes 19 ms
    from console.ui.session import run_console  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    changes = reasons_to_look(follower)
    if restarter is not None:
        follower.restarter = restarter
        changes = restarting(changes, restarter)
    return run_console(
        follower,
        operations,
        WizardFiles(PivotDriver(operations), Path.cwd()),
        Branches(run, operations),
        changes,
        memory=memory_path(run.path, os.environ),
        is_read_only=parsed.read_only,
    )


def _restarter(operations: Operations, parsed: argparse.Namespace) -> Restarter:
    """Acts where the run's settings, as they are by then, or the command line ask for it."""
    settings = CachedFile(operations.run.settings, read_settings)

    def is_wanted() -> bool:
        known, _ = settings.look()
        is_set = known is not None and known.trainer.restart and not parsed.no_launch
        return is_set or bool(parsed.restart)

    return Restarter(
        is_wanted=is_wanted,
        look=operations.look_for_crash,
        launch=operations.restart,
        monotonic=time.monotonic,
    )


def has_terminal() -> bool:
    """Whether a screen can be drawn (it goes to stderr) and keys be read."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _parse_console(arguments: list[str]) -> tuple[argparse.Namespace, tuple[str, ...]]:
    own: list[str] = arguments
    command: tuple[str, ...] = ()
    if "--" in arguments:
        split = arguments.index("--")
        own, command = arguments[:split], tuple(arguments[split + 1 :])
    parser = _console_parser()
    parsed, unknown = parser.parse_known_args(own)
    if parsed.run is None and not unknown:
        parser.error("the following arguments are required: RUN")
    if parsed.run in VERBS:
        parser.error(f"{parsed.run} is a verb and comes first; the directory is ./{parsed.run}")
    if unknown:
        parser.error(_about(parser, parsed.run or "", unknown))
    _require_no_typo(parser, parsed.run)
    if "--" in arguments and not command:
        parser.error("no command after --")
    if parsed.launch and parsed.read_only:
        parser.error("--launch starts a trainer, and --read-only changes nothing")
    parsed.run = Path(parsed.run)
    return parsed, command


def _require_no_typo(parser: argparse.ArgumentParser, run: str) -> None:
    """A mistyped verb alone would make a run of that name, and train it."""
    nearest = difflib.get_close_matches(run, VERBS, n=1, cutoff=_ALIKE)
    if nearest and "/" not in run and not Path(run).exists():
        parser.error(
            f"{run} is no verb and no run; did you mean {nearest[0]}?"
            f" A new run of that name is made by ./{run}"
        )


def _about(parser: argparse.ArgumentParser, first: str, unknown: list[str]) -> str:
    """What is wrong with arguments that nobody knows: most often `first` was to be a verb."""
    nearest = difflib.get_close_matches(first, VERBS, n=1)
    if nearest and not all(word.startswith("-") for word in unknown):
        return f"{first} is no verb; did you mean {nearest[0]}?"
    if unknown[0] in VERBS:
        return f"{unknown[0]} is a verb and comes first"
    return _about_options(parser, unknown)


def _about_options(parser: argparse.ArgumentParser, unknown: list[str]) -> str:
    """The option that was meant, where one is near."""
    name = next((word for word in unknown if word.startswith("-")), "").partition("=")[0]
    nearest = difflib.get_close_matches(name, parser._option_string_actions, n=1, cutoff=_ALIKE)
    if nearest:
        return f"{name} is no option; did you mean {nearest[0]}?"
    return f"unrecognized arguments: {' '.join(unknown)}"


def _console_parser() -> argparse.ArgumentParser:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {name:{width}}  {verb.help}" for name, verb in VERBS.items())
    parser = argparse.ArgumentParser(
        prog="andrea-console",
        usage="andrea-console RUN [options] [-- COMMAND …]\n"
        f"       andrea-console {{{','.join(VERBS)}}} RUN [options]",
        description=_DESCRIPTION,
        epilog=f"verbs, for scripts:\n{verbs}\n\n{_EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # Required, but asked for only when no mistyped option can be the reason that it is missing.
    parser.add_argument("run", metavar="RUN", nargs="?", help="the run directory")
    parser.add_argument(
        "--preset", metavar="NAME", help=f"of a new run: {', '.join(PRESETS)} (default: demo)"
    )
    parser.add_argument(
        "--source",
        metavar="NAME=GLOB",
        action="append",
        default=[],
        type=_source,
        help="what a new run trains on: files, *.jsonl, tokens:*.bin (made by nanoGPT, llm.c or"
        " Megatron), or python:docs; may be repeated",
    )
    parser.add_argument(
        "--test",
        metavar="NAME=GLOB",
        action="append",
        default=[],
        type=_source,
        help="a test set of a new run: never trained on, nor is text that shares 13 words in a row"
        " with it; may be repeated",
    )
    parser.add_argument(
        "--tokenizer",
        metavar="FILE",
        help="tokenizer.json of one's own for a new run (default: learned from its text); the model"
        " gets a row for each entry",
    )
    parser.add_argument(
        "--separator",
        metavar="NAME",
        help=f"its special token that ends a document (default: {SEPARATOR})",
    )
    starting = parser.add_mutually_exclusive_group()
    starting.add_argument(
        "--launch", action="store_true", help="start the trainer of a run that is there, as r does"
    )
    starting.add_argument(
        "--no-launch", action="store_true", help="don't start that of a new run, or after a crash"
    )
    parser.add_argument(
        "--restart",
        action="store_true",
        help="start the trainer again after a crash, with pauses, also if trainer.restart in"
        " run.toml is false",
    )
    parser.add_argument("--read-only", action="store_true", help="watch, and change nothing")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    return parser


def _source(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    if not (name and path):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=GLOB")
    return name, path


def _find_run(parsed: argparse.Namespace, command: tuple[str, ...]) -> tuple[RunDirectory, bool]:
    """The run, made if it isn't there, and whether it was; one that changes nothing makes none."""
    if parsed.read_only:
        if not parsed.run.is_dir():
            raise SettingsError(f"{parsed.run}: there is no run, and --read-only makes none")
        if why := why_no_run(parsed.run):
            raise SettingsError(why)
        return RunDirectory(parsed.run), False
    sources = dict(parsed.source)
    if len(sources) < len(parsed.source):
        raise SettingsError("--source: a name is given twice")
    tests = dict(parsed.test)
    if len(tests) < len(parsed.test):
        raise SettingsError("--test: a name is given twice")
    if parsed.separator and not parsed.tokenizer:
        raise SettingsError("--separator: is of a --tokenizer; one that is learned has its own")
    tokenizer = TokenizerSettings(
        path=parsed.tokenizer or "", separator=parsed.separator or SEPARATOR
    )
    return ensure_run(
        parsed.run,
        preset=parsed.preset,
        sources=sources,
        command=command,
        tokenizer=tokenizer,
        tests=tests,
    )

"""How a trainer can end: the contract's exit codes, their words, the errors behind them."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of `andrea-trainer`."""

    FINISHED = 0
    ERROR = 1
    USAGE = 2
    NONFINITE = 3
    SAVE_FAILED = 4
    LOCKED = 5
    GATE = 6
    HELD = 10
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_WORDS: dict[int, str] = {
    Exit.FINISHED: "all steps done",
    Exit.ERROR: "the trainer crashed; the traceback is in trainer.log",
    Exit.USAGE: "settings or usage wrong; nothing was changed",
    Exit.NONFINITE: "loss or gradient not finite; the last good checkpoint is kept",
    Exit.SAVE_FAILED: "the state could not be saved",
    Exit.LOCKED: "another trainer holds this run",
    Exit.GATE: "coherence gate: too many audits in a row under the threshold",
    Exit.HELD: "held at a boundary for a pivot",
    Exit.INTERRUPTED: "stopped by SIGINT; checkpoint written",
    Exit.TERMINATED: "stopped by SIGTERM; checkpoint written",
}


def after_word(word: str, reason: str) -> str:
    """The reason as it is said after the state's word: no `stopped: stopped by SIGTERM`."""
    return reason.removeprefix(f"{word} ")


class RunError(Exception):
    """An end of the run that the operator must read about; `main` turns it into its exit code."""

    exit_code: Exit = Exit.ERROR


class SettingsError(RunError, ValueError):
    """The operator's mistake in settings or usage; the message names file, setting and mend."""

    exit_code = Exit.USAGE


class TokenizerError(SettingsError):
    """`tokenizer.json` can't be used with this run's settings."""


class SourceError(SettingsError):
    """A source that can't be used: what is wrong, where, and what to do."""


class TokensError(RunError):
    """Prepared tokens that no text was encoded to: they are damaged."""


class HistoryError(RunError):
    """A file of the run directory contradicts the contract in a way that needs a person."""

    exit_code = Exit.USAGE


class NonFiniteError(RunError):
    """Loss or gradient is NaN or infinite; raised before the update is applied."""

    exit_code = Exit.NONFINITE


class SaveError(RunError):
    """A checkpoint or sidecar could not be written; what was there before is untouched."""

    exit_code = Exit.SAVE_FAILED


class LockedError(RunError):
    """Another trainer holds the run."""

    exit_code = Exit.LOCKED


class RankError(RunError):
    """One of the ranks that train together is gone, or can't train with the others."""


class GateError(RunError):
    """The coherence gate halted the run."""

    exit_code = Exit.GATE

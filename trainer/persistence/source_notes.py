"""What a start tells of its sources: how far they are prepared, and what became of their files."""

import time
from collections.abc import Callable, Mapping

from trainer.persistence.reporter import Reporter
from trainer.persistence.source_watch import GOES_ON_PREPARED, text_alarm
from trainer.proxy.preparation.meter import Meter, Metered
from trainer.proxy.tokens import TokenizedSource
from trainer.rundir.config.settings import TEST
from trainer.rundir.names import shown
from trainer.signals import Signals

_LINE_SECONDS = 60.0
"""Between two lines of progress in the log: a preparation may take a day."""


def telling(
    reporter: Reporter,
    signals: Signals,
    *,
    monotonic: Callable[[], float] = time.monotonic,
) -> Metered:
    """A `Progress` that shows in the state, and now and then in the log, and heeds a stop."""
    meter = Meter(monotonic)
    said_at = monotonic()

    def progress(fraction: float, what: str) -> None:
        nonlocal said_at
        signals.stop_if_asked()

        def words() -> str:
            preparing = meter.preparing
            return preparing.words if preparing else f"{what}: {fraction:.0%}"

        reporter.soon(lambda: {"detail": words(), "preparing": meter.preparing})
        if monotonic() - said_at >= _LINE_SECONDS:
            said_at = monotonic()
            reporter.say(words())

    return Metered(progress, meter)


def tell_text(sources: Mapping[str, TokenizedSource], reporter: Reporter) -> None:
    """How the sources' files differ from those that their tokens were made of."""
    for name, source in sources.items():
        drift = source.drift
        if drift.altered:
            reporter.alarm(text_alarm(name), f"{drift.altered}; {GOES_ON_PREPARED}")
        if drift.added:
            reporter.note(f"source {name}: {drift.added}; new text comes in by a pivot")
        if source.left_out:
            reporter.note(f"source {name}: left out: {source.left_out}")
        if source.set_aside:
            reporter.note(
                f"source {name}: {source.set_aside:,} tokens are held out by hash beyond"
                " data.held_out_tokens: neither trained on nor measured"
            )
        if source.duplicates:
            reporter.note(f"source {name}: {source.duplicates}")
        if source.apart:
            reporter.note(f"source {name}: {source.apart}")
        if source.is_encoded_slowly:
            reporter.note(
                f"source {name}: the fast encoder (tiktoken) gave other tokens than tokenizer.json"
                " says: it is not used, and text takes longer"
            )
        if source.replaced:
            reporter.note(f"source {name}: prepared anew: {source.replaced}")
        if drift.files and drift.files.unreadable:
            folders = ", ".join(map(shown, drift.files.unreadable[:3]))
            n = len(drift.files.unreadable)
            reporter.note(f"source {name}: can't be read: {n:,} folders ({folders})")


def tell_tests(tests: Mapping[str, TokenizedSource], reporter: Reporter) -> None:
    """How much the test sets hold."""
    for name, test in tests.items():
        drift = test.drift.altered or test.drift.added
        reporter.say(
            f"test set {name.removeprefix(TEST)}: {test.documents:,} documents,"
            f" {len(test.held_out):,} tokens" + (f"; {drift}; {GOES_ON_PREPARED}" if drift else "")
        )

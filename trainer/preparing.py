"""`andrea-trainer prepare RUN`: tokenizer and tokens of all sources, and no training."""

from trainer.persistence.reporter import Reporter
from trainer.persistence.source_notes import tell_tests, tell_text, telling
from trainer.proxy.feed import open_sources
from trainer.rundir.config.settings import Settings
from trainer.rundir.environment import recorded_environment
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.records.newest_records import last_record
from trainer.rundir.start_checks import unreadable
from trainer.rundir.state import State
from trainer.signals import Signals

PREPARED = "its sources are prepared"


def prepare_run(
    run: RunDirectory,
    settings: Settings,
    *,
    before: State | None,
    reporter: Reporter,
    signals: Signals,
) -> Exit:
    """Prepare what a start would, and leave the rest of the run as it was, under its lock.

    What was done when it is stopped stays. Raises `StopRequested`, and the errors of `outcomes`.
    """
    try:
        last = last_record(run.loss) if run.loss.exists() else None
        _, sources, tests = open_sources(
            run,
            settings,
            phase=run.current_phase(),
            trained=None if last is None else recorded_environment(run, before),
            is_new=last is None or last.get("phase") != run.current_phase(),
            progress=telling(reporter, signals),
        )
    except OSError as error:
        raise unreadable(run, error) from error
    tell_text(sources, reporter)
    tell_tests(tests, reporter)
    for name, source in sources.items():
        n_tokens = len(source.train) + len(source.held_out)
        reporter.say(f"source {name}: {source.documents:,} documents, {n_tokens:,} tokens")
    # nothing was trained: what the state said of the run before is still what is true
    reporter.state = before or State(phase=run.current_phase(), reason=PREPARED)
    reporter.now()
    reporter.say("all sources are prepared")
    return Exit.FINISHED

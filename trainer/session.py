"""One start of the trainer: open everything in the run directory, resume, train, end in words.

Imported only after signals, arguments, lock and settings are settled: it loads torch.
"""

import os
import time
from contextlib import ExitStack
from functools import partial

from trainer.crew.where import where_am_i
from trainer.deadline import Deadline, deadline_of, expected_save
from trainer.engine.device import place
from trainer.engine.engine import Engine
from trainer.engine.ranks import Ranks
from trainer.loop import Training, train, view
from trainer.persistence.checkpoints import NO_CHECKPOINT_ALARM, Checkpointer
from trainer.persistence.hold import Hold
from trainer.persistence.loss_history import LossHistory
from trainer.persistence.reporter import Reporter
from trainer.persistence.source_notes import tell_tests, tell_text, telling
from trainer.persistence.source_watch import SourceWatch
from trainer.proxy.feed import Feed, open_feed
from trainer.rundir.checkpoints.checkpoint import Checkpoint, checkpoint_bytes
from trainer.rundir.checkpoints.coverage import own_checkpoints, require_as_audited
from trainer.rundir.config.continuity import compare_environment
from trainer.rundir.config.rules import RULES
from trainer.rundir.config.run_toml import flat_settings
from trainer.rundir.config.settings import Settings
from trainer.rundir.environment import TEXT_OF, recorded_environment
from trainer.rundir.layout import RunDirectory
from trainer.rundir.leftovers import remove_leftovers
from trainer.rundir.outcomes import Exit, HistoryError, RunError, TokensError
from trainer.rundir.pivot.journal import hold_wanted
from trainer.rundir.records.record_file import Repair, without_collector
from trainer.rundir.sources.prepared import Drift
from trainer.rundir.start_checks import unreadable
from trainer.rundir.state import ENDED, State
from trainer.signals import Signals


def run_trainer(
    run: RunDirectory,
    settings: Settings,
    *,
    before: State | None,
    reporter: Reporter,
    signals: Signals,
    hold: Hold | None = None,
    until: int | None = None,
    limit_seconds: float | None = None,
) -> Exit:
    """Resume from the newest checkpoint and train; `before`: the state the last start left;
    `hold`: looked at in each step; `until`: a step to end after, before the last;
    `limit_seconds`: to end by itself, saved, within so long of this call.

    Raises `StopRequested` while it opens, and the errors of `outcomes`; whatever ends it, the
    files are as the contract says.
    """
    began = time.monotonic()
    try:
        with without_collector():
            training = _open(run, settings, before, reporter, signals)
    except OSError as error:
        raise unreadable(run, error) from error
    if hold is not None:
        training.look_at_hold = partial(hold.look, reporter)
    if limit_seconds is not None:
        training.deadline.end_within(began + limit_seconds)
    if until is not None:
        training.last_step = min(until, training.last_step)
    try:
        outcome = train(training)
        if outcome is Exit.FINISHED and training.engine.step < settings.train.total_steps:
            reporter.now(reason=f"trained to step {training.engine.step:,}, as --until asked")
        return outcome
    except RunError as error:
        if isinstance(error, TokensError):
            _rescue(training)
        raise
    except Exception:
        _rescue(training)
        raise
    finally:
        training.checkpointer.close()
        training.engine.ranks.close()
        training.history.close()
        reporter.now(**view(training))


def _rescue(training: Training) -> None:
    """Keep what was trained since the newest checkpoint; the error goes on whatever comes of it."""
    try:
        why_not = training.checkpointer.rescue()
    except (RuntimeError, OSError) as error:  # a device that is gone
        why_not = str(error)
    if why_not:
        training.reporter.say(f"no emergency checkpoint: {why_not}")


def _open(
    run: RunDirectory,
    settings: Settings,
    before: State | None,
    reporter: Reporter,
    signals: Signals,
) -> Training:
    signals.stop_if_asked()
    if before is not None and before.doing and before.doing not in ENDED:
        reporter.say(
            f"the trainer before ended without a word at step {before.step:,} ({before.doing})"
        )
    place(settings.train)  # raises now, not after minutes of tokenizing
    for name in remove_leftovers(run):
        reporter.say(f"removed {name}, which a killed process left half written")
    inventory = own_checkpoints(run, settings.model.n_params)
    for skip in inventory.skipped:
        reporter.say(f"skipped {skip.path.name}: {skip.reason}")
    newest = inventory.newest
    step = newest.step if newest else 0
    history = LossHistory(
        run.loss, step, checkpoints=inventory.checkpoints, rules=RULES[settings.rules]
    )
    with ExitStack() as opened:
        opened.callback(history.close)
        training = _open_around(
            run, settings, before, reporter, signals, history=history, newest=newest, opened=opened
        )
        opened.pop_all()  # closed at the training's end from here on
    return training


def _open_around(
    run: RunDirectory,
    settings: Settings,
    before: State | None,
    reporter: Reporter,
    signals: Signals,
    *,
    history: LossHistory,
    newest: Checkpoint | None,
    opened: ExitStack,
) -> Training:
    """All that stands on the history; `opened` takes what is to be closed if this fails."""
    step = history.step
    _tell_repair(reporter, history.repair)
    # A start that only proves records anew leaves no record of its own: the state counts it.
    attempt = max(history.attempt, before.attempt + 1 if before else 1)
    reporter.now(attempt=attempt, step=step)
    ranks = _join(run, settings, reporter, signals)
    opened.callback(ranks.close)
    reporter.now(detail="preparing the sources")
    feed = _open_feed(run, settings, before, history, reporter, signals)
    reporter.now(detail="building the model")
    engine = _open_engine(settings, newest, ranks)
    if newest:
        require_as_audited(run, newest)
    signals.stop_if_asked()
    _tell_environment(before, engine, feed, reporter)
    deadline = _deadline(settings, engine, reporter, signals)
    engine.before_micro_step = deadline.before_micro_step
    checkpointer = Checkpointer(
        run=run,
        settings=settings,
        engine=engine,
        feed=feed,
        history=history,
        reporter=reporter,
        skips_audit=lambda: signals.wants_stop_at_once or deadline.leaves_no_audit(),
    )
    opened.callback(checkpointer.close)
    _tell_repair(reporter, checkpointer.repair)
    training = Training(
        settings=settings,
        engine=engine,
        feed=feed,
        history=history,
        checkpointer=checkpointer,
        reporter=reporter,
        signals=signals,
        deadline=deadline,
        source_watch=SourceWatch(run, settings, _drifts(feed), reporter),
        hold_wanted=lambda: hold_wanted(run),
        last_step=settings.train.total_steps,
    )
    reporter.now(**view(training), settings=flat_settings(settings))
    _say_where(engine, newest, reporter)
    _tell_losses(settings, feed, history, newest, reporter)
    if newest:
        checkpointer.adopt(newest)
    return training


def _tell_losses(
    settings: Settings,
    feed: Feed,
    history: LossHistory,
    newest: Checkpoint | None,
    reporter: Reporter,
) -> None:
    """Alarms for what was there before and is gone: sources, or all checkpoints."""
    gone = [name for name in settings.sources if name not in feed.sources]
    if gone:
        paths = ", ".join(f"{name} ({settings.sources[name].path})" for name in gone)
        reporter.alarm("source gone", f"{paths}; training goes on without it")
    n_again = history.replay.last_step
    if newest is None and n_again >= settings.checkpoint.every:
        reporter.alarm(
            NO_CHECKPOINT_ALARM, f"all {n_again:,} steps of the history are trained again"
        )


def _join(run: RunDirectory, settings: Settings, reporter: Reporter, signals: Signals) -> Ranks:
    """This process with those that train with it, where there are any."""
    where = where_am_i(os.environ)
    if where.size == 1 and settings.train.ranks == 1:
        return Ranks()
    from trainer.together import lead  # noqa: PLC0415

    return lead(run, settings, where, reporter, signals)


def _open_engine(settings: Settings, newest: Checkpoint | None, ranks: Ranks) -> Engine:
    engine = Engine(settings, ranks)
    if newest:
        engine.resume(newest)
        if not engine.are_finite():
            raise HistoryError(
                f"{newest.path}: holds values that are not finite; move the file away to resume"
                " from the checkpoint before it (andrea-console verify checks them all)"
            )
    else:
        engine.initialise()
    return engine


def _open_feed(
    run: RunDirectory,
    settings: Settings,
    before: State | None,
    history: LossHistory,
    reporter: Reporter,
    signals: Signals,
) -> Feed:
    past = list(history.past())
    phase, step = reporter.state.phase, reporter.state.step
    phase_start = next((r.step - 1 for r in past if r.step and r.phase == phase), step)
    reporter.now(phase_start_step=phase_start)
    feed = open_feed(
        run,
        settings,
        phase=phase,
        past=past,
        remembered=before.arms if before else {},
        trained=recorded_environment(run, before) if history.phases else None,
        is_new=phase not in history.phases,
        progress=telling(reporter, signals),
    )
    reporter.now(preparing=None)
    tell_text(feed.sources, reporter)
    tell_tests(feed.tests, reporter)
    if phase > 1 and phase_start == step:
        _tell_sources(feed, reporter)
    _tell_held_out(settings, feed, reporter)
    return feed


def _deadline(settings: Settings, engine: Engine, reporter: Reporter, signals: Signals) -> Deadline:
    n_bytes = checkpoint_bytes(engine.parameters.n_params)

    def save_seconds() -> float:
        save = reporter.state.last_save
        return expected_save(n_bytes, save.seconds if save is not None and save.ok else None)

    return deadline_of(
        settings.train, signals, save_seconds=save_seconds, is_alone=engine.ranks.size == 1
    )


def _drifts(feed: Feed) -> dict[str, Drift]:
    return {name: source.drift for name, source in feed.sources.items()}


def _tell_held_out(settings: Settings, feed: Feed, reporter: Reporter) -> None:
    """Why a source has no val_loss; its text is too small for a hundredth of it to be a row."""
    for name, tokens in feed.without_val_loss().items():
        reporter.note(
            f"source {name}: {tokens:,} tokens of its text are held out, too few for a row of"
            f" {settings.model.context:,} and its target: it has no val_loss and counts in none"
        )


def _tell_sources(feed: Feed, reporter: Reporter) -> None:
    """Where each source goes on in a phase's first step: by its name, over all phases."""
    for name in feed.sources:
        given = feed.rows_given(name)
        where = f"goes on after {given:,} rows given" if given else "starts at its first row"
        reporter.note(f"phase {reporter.state.phase}: source {name} {where}")


def _tell_repair(reporter: Reporter, repair: Repair | None) -> None:
    if repair:
        note = (
            f"{repair.path.name}: {repair.torn_bytes} torn bytes cut from its end,"
            f" kept as {repair.kept_as.name}"
        )
        reporter.note(note)


def _tell_environment(before: State | None, engine: Engine, feed: Feed, reporter: Reporter) -> None:
    texts = {f"{TEXT_OF}{name}": digits for name, digits in feed.texts().items()}
    tokenizer = {"tokenizer": feed.tokenizer.sha256}
    environment = {**engine.placement.facts(), **tokenizer, **texts}
    for note in compare_environment(before.environment if before else {}, environment):
        reporter.note(note)
    reporter.now(environment=environment)


def _say_where(engine: Engine, newest: Checkpoint | None, reporter: Reporter) -> None:
    placement, size = engine.placement, engine.ranks.size
    where = f"{size} × {placement.device.type}" if size > 1 else str(placement.device)
    start = f"resuming from {newest.path.name}" if newest else "starting at step 0"
    reporter.say(
        f"{start}: {engine.parameters.n_params:,} parameters on {where}"
        f" in {placement.precision}, attempt {reporter.state.attempt},"
        f" phase {reporter.state.phase}"
    )

"""What a pivot would do, before it does anything: for the wizard's screens and for the verb."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from console import formatting
from console.view.run_view import RunView
from trainer.rundir.config.policy import ArmPreview, preview_policy
from trainer.rundir.config.policy_change import (
    PolicyChange,
    apply_change,
    check_sources,
    diff_texts,
)
from trainer.rundir.config.run_toml import load_text, parse_settings
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.pivot.journal import HoldMode, how_to_go_on
from trainer.rundir.pivot.stages import sidecars
from trainer.rundir.reading import read_file
from trainer.rundir.state import ArmState


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A pivot that could be requested now."""

    change: PolicyChange
    mode: HoldMode
    new_text: str
    """Of `run.toml`."""
    settings: Settings
    """What it says."""
    diff: tuple[str, ...]
    """Lines of a unified diff of `run.toml`."""
    preview: Mapping[str, ArmPreview]
    """Probabilities by arm: today's, the new phase's first, and as if it had learned as much."""
    archives: tuple[tuple[Path, int], ...]
    """What is moved into `archive_folder`, with bytes."""
    archive_folder: Path


def make_plan(
    run: RunDirectory, change: PolicyChange, mode: HoldMode, arms: Mapping[str, ArmState]
) -> Plan:
    """The plan for a change of policy; raises `SettingsError` that names the key, or `OSError`."""
    text, before = load_text(run.settings)
    new_text = apply_change(text, change)
    settings = parse_settings(new_text)
    check_sources(run, before, settings)
    return Plan(
        change=change,
        mode=mode,
        new_text=new_text,
        settings=settings,
        diff=diff_texts(text, new_text),
        preview=preview_policy(settings, arms),
        archives=tuple((path, path.stat().st_size) for path in sidecars(run) if path.exists()),
        archive_folder=run.phase_archive(run.current_phase()),
    )


def require_as_planned(run: RunDirectory, plan: Plan) -> None:
    """Raise `SettingsError` where `run.toml` was edited since: the pivot would undo the edit."""
    text = read_file(run.settings).decode()
    if apply_change(text, plan.change) != plan.new_text:
        raise SettingsError(
            f"{run.settings}: was edited after this pivot was planned; plan it again"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One precondition of a pivot."""

    ok: bool | None
    """`None`: not known, which holds nothing up."""
    what: str
    mend: str = ""
    """What to do about it; a check that is ok may have a remark here."""

    @property
    def has_failed(self) -> bool:
        """Whether it holds the pivot up."""
        return self.ok is False


def ends_at_checkpoint(view: RunView) -> bool:
    """Whether the newest checkpoint of a stopped run is its boundary as it is."""
    return not view.is_running and view.newest is not None and view.newest.step >= view.step


def check_preconditions(run: RunDirectory, view: RunView, threshold: float) -> tuple[Check, ...]:
    """Everything that must be so before a pivot is requested, in the order it is shown.

    `threshold` is `audit.threshold`.
    """
    checks = (_pending(run), _trainer(view), _next_start(view), _steps_left(view))
    return (*checks, _newest(view, threshold), _disk(view), _zombies(view))


def _pending(run: RunDirectory) -> Check:
    if not run.pivot.exists():
        return Check(ok=True, what="no pivot is under way")
    return Check(ok=False, what="a pivot is under way", mend=how_to_go_on(run))


def _next_start(view: RunView) -> Check:
    """A pivot ends in a start. Its plan looks after the sources: it may remove one that is gone."""
    refusals = [refusal.what for refusal in view.refusals if not refusal.is_of_source]
    if refusals:
        return Check(ok=False, what="the next start would refuse", mend="; ".join(refusals))
    return Check(ok=True, what="the run would start again")


def _trainer(view: RunView) -> Check:
    if not view.is_running:
        goes_on = "it trains up to the next boundary first, unless it is held now"
        mend = "its newest checkpoint is taken" if ends_at_checkpoint(view) else goes_on
        return Check(ok=True, what="the run is stopped", mend=mend)
    if view.takes_signals:
        return Check(ok=True, what=f"the trainer lives and takes signals (pid {view.pid})")
    return Check(
        ok=False,
        what="the trainer takes no signals from here",
        mend="wait until it has started, or do this on the machine that it runs on",
    )


def _steps_left(view: RunView) -> Check:
    if view.total_steps is not None and view.step >= view.total_steps:
        return Check(ok=False, what="all steps are done", mend="there is nothing left to train")
    return Check(ok=True, what=f"step {formatting.steps(view.step)}: there are steps left")


def _newest(view: RunView, threshold: float) -> Check:
    newest = view.newest
    if newest is None:
        is_first = view.is_running
        what = "no checkpoint yet" + (": the boundary's will be the first" if is_first else "")
        return Check(ok=is_first, what=what, mend="" if is_first else "start the trainer first")
    what = f"newest checkpoint: step {formatting.steps(newest.step)}"
    score = newest.audit.score if newest.audit is not None else None
    if score is None:
        return Check(ok=True, what=what, mend="its audit is not there: look at it again later")
    if score < threshold:
        mend = "read its sample first: a pivot keeps these weights"
        return Check(ok=False, what=f"{what}, score {score:.0f} under {threshold:g}", mend=mend)
    return Check(ok=True, what=f"{what}, score {score:.0f}")


def _disk(view: RunView) -> Check:
    need = view.newest.n_bytes if view.newest is not None else None
    if need is None or view.free_bytes is None:
        what = "the size of a checkpoint" if need is None else "the free space of the disk"
        return Check(ok=None, what=f"room for a checkpoint: {what} is unknown")
    free = formatting.size(view.free_bytes)
    if view.free_bytes < need:
        mend = f"a checkpoint needs {formatting.size(need)}: make room"
        return Check(ok=False, what=f"{free} free", mend=mend)
    return Check(ok=True, what=f"{free} free: enough for one more checkpoint")


def _zombies(view: RunView) -> Check:
    if not view.zombies:
        return Check(ok=True, what="no zombie arms")
    names = ", ".join(zombie.arm for zombie in view.zombies)
    mend = "nothing of them reaches the new phase; remove a source that is gone from the policy"
    return Check(ok=True, what=f"zombie arms: {names}", mend=mend)

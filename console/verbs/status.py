"""`andrea-console status`: how a run is, for scripts and for a person without a screen."""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from console import formatting
from console.follow.follower import Follower
from console.verbs.verb import HEALTHY, NEEDS_ATTENTION, NOT_RUNNING, Verb, print_json
from console.verbs.waiting import POLL_SECONDS, look_at_all
from console.view.gpu import Gpu
from console.view.health_words import ill_words, verdict_words
from console.view.machine import Machine
from console.view.run_view import CheckpointRow, RunView, Severity
from console.view.sources import SourceFacts, losses_on_tests, sources_at
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import escape_control, shown
from trainer.rundir.sources.prepared import TokenIndex
from trainer.rundir.state import RankState

_SECOND_LOOK_SECONDS = 60.0
"""The longest that `status` looks on; a run may be asked about that takes an hour to start."""


def exit_code_of(view: RunView) -> int:
    """0 healthy, 1 needs attention (stalled, failed, an alarm, ill by its record), 3 not running.

    Of a run that has ended only those alarms count that would hold up its next start, and what
    its record tells: who resumes an ill run has to know.
    """
    is_ill = view.health.verdict == "ill"
    if view.status.severity is Severity.BAD or view.refusals or is_ill:
        return NEEDS_ATTENTION
    if not view.is_running:
        return NOT_RUNNING
    wants_attention = view.alarms or view.status.severity is Severity.ATTENTION
    return NEEDS_ATTENTION if wants_attention else HEALTHY


def as_json(view: RunView) -> dict[str, Any]:
    """The contract's keys; `None` is unknown, a loss that is not finite too."""
    return {
        "run": shown(view.name),
        "state": view.status.word,
        "pid": view.pid,
        "step": view.step,
        "total_steps": view.total_steps,
        "loss": view.last.loss if view.last else None,
        "ema": view.last.ema if view.last else None,
        "steps_per_minute": view.steps_per_minute,
        "eta_seconds": view.eta_seconds,
        "phase": view.phase,
        "checkpoints": {
            "count": len(view.checkpoints),
            "bytes": view.checkpoint_bytes,
            "newest": _newest(view.newest),
        },
        "preparing": _preparing_json(view),
        "ranks": [_rank_json(each) for each in view.state.ranks],
        "disk": {"free_bytes": view.free_bytes, "full_in_seconds": view.full_in_seconds},
        "alarms": list(view.alarms),
        "health": view.health.as_json(),
    }


def _preparing_json(view: RunView) -> dict[str, Any] | None:
    """How far the sources' text is on its way to tokens; `None`: it isn't."""
    preparing = view.state.preparing
    return {**asdict(preparing), "source": shown(preparing.source)} if preparing else None


def _rank_json(rank: RankState) -> dict[str, Any]:
    """One of several processes that train together; `lost` is how it ended."""
    return {
        **asdict(rank),
        "host": shown(rank.host),
        "device": shown(rank.device),
        "lost": shown(rank.lost) or None,
    }


def pinned_json(view: RunView) -> list[dict[str, Any]]:
    """The pinned checkpoints by step."""
    pinned = (row for row in view.checkpoints if row.note is not None)
    return [{"step": row.step, "file": row.name, "note": row.note} for row in pinned]


def evaluations_json(view: RunView) -> list[dict[str, Any]]:
    """What is known of checkpoints on the whole held-out text, by step."""
    return [row.evaluation.as_json() for row in view.checkpoints if row.evaluation is not None]


def machine_json(machine: Machine) -> dict[str, Any]:
    """One sample; `None` is unknown."""
    trainer = machine.trainer
    return {
        "trainer_host": machine.trainer_host or None,
        "gpus": [_gpu_json(gpu) for gpu in machine.gpus.rows],
        "gpus_unknown": machine.gpus.word or None,
        "cpu": machine.cpu_share,
        "ram": {"used_bytes": machine.ram_used_bytes, "total_bytes": machine.ram_bytes},
        "trainer": None
        if trainer is None
        else {
            "rss_bytes": trainer.rss_bytes,
            "peak_rss_bytes": trainer.peak_bytes,
            "written_bytes_per_second": trainer.write_rate,
        },
        "disk": {
            "free_bytes": machine.room.free_bytes,
            "free_inodes": machine.room.free_inodes,
        },
    }


def _gpu_json(gpu: Gpu) -> dict[str, Any]:
    return {
        "index": gpu.index,
        "name": gpu.name or None,
        "utilisation": gpu.busy,
        "memory": {
            "used_bytes": gpu.used_bytes,
            "total_bytes": gpu.total_bytes,
            "trainer_bytes": gpu.trainer_bytes,
        },
        "is_trainers": gpu.is_trainers,
        "celsius": gpu.celsius,
        "watts": gpu.watts,
        "max_watts": gpu.most_watts,
        "slowed_by": None if gpu.slowed_by is None else list(gpu.slowed_by),
        "ecc": {"corrected": gpu.ecc_corrected, "uncorrected": gpu.ecc_uncorrected},
        "xid": gpu.xid,
        "fault": gpu.word or None,
    }


def sources_json(view: RunView, facts: SourceFacts) -> list[dict[str, Any]]:
    """A source each, as the data of the screen has it; `None` is unknown."""
    return [
        {
            "name": shown(row.name),
            "tokens": row.tokens,
            "rows": row.rows,
            "given_tokens": row.given_tokens,
            "given_rows": row.given_rows,
            "passes": row.passes,
            "rows_left": row.rows_left,
            "loss": row.loss,
            "val_loss": row.val_loss,
            "share": row.share,
            "wanted_share": row.wanted,
            **prepared_json(facts.sizes.get(row.name)),
            "memorised": ill.words() if (ill := view.health.memorised.get(row.name)) else None,
        }
        for row in sources_at(facts, None)
    ]


def prepared_json(size: TokenIndex | None) -> dict[str, Any]:
    """What preparation found of a source; `None` is unknown."""
    return {
        "duplicates": size.duplicates if size else None,
        "set_aside_tokens": size.set_aside_tokens if size else None,
        "test_set_passages": size.apart_pieces if size else None,
        "test_set_documents": size.apart_documents if size else None,
        "test_set_bytes": size.apart_bytes if size else None,
    }


def _newest(row: CheckpointRow | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        "step": row.step,
        "file": row.name,
        "bytes": row.n_bytes,
        "score": row.audit.score if row.audit else None,
        "val_loss": row.audit.val_loss if row.audit else None,
    }


def as_text(view: RunView, now: float) -> str:
    """A few lines for a person at this time; alarms last, where they are seen."""
    detail = f": {view.status.detail}" if view.status.detail else ""
    pid = f" (pid {view.pid})" if view.pid else ""
    lines = [
        f"{view.name}: {view.status.word}{pid}{detail}",
        *([ill_words(each, now) for each in view.health.reasons] or [verdict_words(view)]),
        _progress(view),
        _loss(view),
        _checkpoints(view),
        _disk(view),
        *(f"warning: {warning}" for warning in view.warnings),
        *(f"note: {note}" for note in view.notes),
        *(f"ALARM: {alarm}" for alarm in view.alarms if alarm not in view.judged_alarms),
    ]
    return "\n".join(escape_control(line, keep_newlines=False) for line in lines if line)


def _progress(view: RunView) -> str:
    share = view.step / view.total_steps if view.total_steps else None
    done = f"{formatting.steps(view.step)} of {formatting.steps(view.total_steps)}"
    parts = [f"step {done} ({formatting.percent(share, 1)})", f"phase {view.phase}"]
    if view.replay_end is not None:
        parts.append(formatting.replay(view.replay_end, is_running=view.is_running))
    if view.is_running:
        parts.append(formatting.rate(view.steps_per_minute))
        parts.append(f"{formatting.duration(view.eta_seconds)} to go")
    return ", ".join(parts)


def _loss(view: RunView) -> str:
    if view.last is None:
        return ""
    loss = formatting.loss(view.last.loss, view.last.nonfinite)
    return f"loss {loss}, EMA {formatting.loss(view.last.ema)}"


def _checkpoints(view: RunView) -> str:
    newest = view.newest
    if newest is None:
        return "no checkpoint yet"
    audit = newest.audit
    judged = (
        f", score {formatting.score(audit.score)}, val_loss {formatting.loss(audit.val_loss)}"
        if audit
        else ""
    )
    return (
        f"newest checkpoint: {newest.name}, {formatting.size(newest.n_bytes)}{judged};"
        f" {len(view.checkpoints):,} in all, {formatting.size(view.checkpoint_bytes)}"
    )


def _disk(view: RunView) -> str:
    full = view.full_in_seconds
    when = "" if full is None else f", full in {formatting.duration(full)}"
    inodes = ""
    if view.room.is_short_of_inodes:
        inodes = f", but for {formatting.count(view.room.free_inodes, 'file')} only (free inodes)"
    return f"disk: {formatting.size(view.free_bytes)} free{inodes}{when}"


def _look_twice(follower: Follower) -> RunView:
    """A view in which a stall is known: a look more where clocks alone would tell it."""
    view = look_at_all(follower)
    deadline = time.monotonic() + min(follower.doubt_seconds, _SECOND_LOOK_SECONDS)
    while follower.doubt_seconds and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        view = look_at_all(follower)
    return view


def status(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Print how the run is; exit 0 healthy, 1 needs attention, 3 not running."""
    follower = Follower(run)
    view = _look_twice(follower)
    if arguments.json:
        told = {
            **as_json(view),
            "pinned": pinned_json(view),
            "evaluations": evaluations_json(view),
            "sources": sources_json(view, follower.sources),
            "test_losses": {shown(n): loss for n, loss in losses_on_tests(follower.sources, None)},
            "machine": machine_json(follower.measure_machine()),
        }
        print_json(told)
    else:
        print(as_text(view, time.time()))
    return exit_code_of(view)


def status_of_many(runs: Sequence[RunDirectory], arguments: argparse.Namespace) -> int:
    """Print a line a run; exit 1 if one needs attention, 0 if all are healthy, else 3."""
    views = (look_at_all(Follower(run)) for run in runs)
    codes = set()
    told = []
    width = max(len(shown(run.path.name)) for run in runs)
    for view in views:
        codes.add(exit_code_of(view))
        told.append(as_json(view))
        if not arguments.json:
            print(_line(view, width), flush=True)
    if arguments.json:
        print_json({"runs": told})
    return next((code for code in (NEEDS_ATTENTION, NOT_RUNNING) if code in codes), HEALTHY)


def _line(view: RunView, width: int) -> str:
    done = f"step {formatting.steps(view.step)} of {formatting.steps(view.total_steps)}"
    alarms = f", {formatting.count(len(view.alarms), 'alarm')}" if view.alarms else ""
    return f"{shown(view.name):<{width}}  {view.status.word}, {done}{alarms}"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    words = "stopped, finished, held, failed or not running"
    parser.add_argument(
        "--json",
        action="store_true",
        help=f'as JSON, for scripts; without a trainer "state" is {words}',
    )


STATUS = Verb(
    name="status",
    act=status,
    act_on_many=status_of_many,
    add_arguments=_add_arguments,
)

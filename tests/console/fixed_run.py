"""A run as it could stand two weeks in: the same at every call, for tests and screenshots."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from console.chart.series import Series
from console.health.verdict import Health, Reason, SeriesLine
from console.view.disk_forecast import Room
from console.view.glance import Glance
from console.view.gpu import Gpu, Gpus
from console.view.machine import Machine, Process
from console.view.run_view import (
    ArmRow,
    Audit,
    CheckpointRow,
    Event,
    EventKind,
    LossPoint,
    Mark,
    MarkKind,
    RunView,
    Severity,
    Status,
)
from trainer.rundir.checkpoints.checkpoint import Skipped
from trainer.rundir.state import ArmState, Zombie

NOW = 1_780_000_000.0
"""The wall clock of the fixed run, seconds."""
STEP = 113_942
PIVOT_STEP = 112_700
RESTART_STEP = 41_233
CHECKPOINT_BYTES = 1_441_529_864
STEP_SECONDS = 10.0

_TEXT = (
    "reads the next line from the stream and returns it as a string. If the file is at its end, "
    "an empty string is returned; a line that holds nothing but a newline is not empty, so the "
    "two can be told apart.\n\nThe iterator keeps the position of the last record, and a caller "
    "that asks for it again gets the same object until the list has changed. This is the reason "
    "why the length is not stored: it would have to be counted each time a value is added to "
    "the mapping.\n\nNote that the keys of a view are compared by their hash first. Two keys "
    "which are equal but of a different type share one place in the table, and the value that "
    "was set last is the one that is found. To keep both, wrap them in a tuple with the name of "
    "their type.\n\nChanged in version 3.4: the default for *buffering* is taken from the size "
    "of the block that the device reports, or 8 kilobytes if it does not report one."
)
_TEXT_BEFORE = (
    "reads the next line from the file and returns the string. If the end of the file is the end "
    "of the file, an empty string is returned, and the string is empty.\n\nThe iterator returns "
    "the position of the record, and the record that is returned is the same record until the "
    "list is changed. The length of the list is not the length of the list which was counted "
    "when the value was added.\n\nNote that keys are compared by the hash. A key that is equal "
    "to a key of another type is placed in the table of the type, and the value which is set is "
    "the value that is returned by the function.\n\nChanged in version 3.2: the *buffering* "
    "argument is the size of the block."
)

_ARMS = {
    "stdlib-docs": (412, 0.431, 0.912, 0.284, 0.10, 1.50),
    "stdlib-code": (338, 0.377, 0.861, 0.268, 0.10, 1.00),
    "books": (251, 0.402, 0.884, 0.235, 0.20, 1.00),
    "wiki-en": (187, 0.288, 0.702, 0.164, 0.00, 1.00),
    "chat": (54, 0.120, 0.250, 0.049, 0.00, 0.25),
}

_EVENTS: tuple[tuple[int, EventKind, str] | tuple[int, EventKind, str, Severity], ...] = (
    (1, EventKind.START, "starting: attempt 1"),
    (41_232, EventKind.CRASH, "killed by the kernel: out of memory", Severity.BAD),
    (41_233, EventKind.START, "resuming from step_041200.bin, attempt 2"),
    (41_266, EventKind.REPLAY, "steps 41,201 to 41,232 proven equal to the record on file"),
    (61_300, EventKind.SAVE, "ALARM checkpoint: no space left on device", Severity.BAD),
    (61_340, EventKind.SAVE, "over: checkpoint: step_061340.bin written"),
    (80_100, EventKind.THINNING, "thin: 412 checkpoints, 594 GB (ann@gpu7)"),
    (97_000, EventKind.GATE, "2 audits in a row under 30, now 28.4", Severity.ATTENTION),
    (97_100, EventKind.GATE, "score 41.0, no more under 30"),
    (104_512, EventKind.STALL, "still 12 min", Severity.ATTENTION),
    (PIVOT_STEP, EventKind.PIVOT, "phase 2: less code"),
    (113_450, EventKind.OPERATOR, "stop: checkpoint written (ann@gpu7)"),
    (113_451, EventKind.START, "resuming from step_113450.bin, attempt 4"),
)

_SERIES = {
    "loss": "2.812, best 2.810",
    "loss of stdlib-docs": "2.411, best 2.411",
    "loss of stdlib-code": "2.268, best 2.266",
    "loss of books": "3.120, best 3.118",
    "loss of wiki-en": "3.344, best 3.342",
    "loss of chat": "2.951, best 2.948",
    "val_loss": "2.851, best 2.849",
    "val_loss of books": "3.161, best 3.160",
    "val_loss of wiki-en": "3.402, best 3.399",
    "train–val gap": "0.039, usually 0.038",
    "score": "72, best 73",
    "grad_norm": "0.352, usually 0.348",
    "clipping": "0%, usually 0%",
    "step time": "10.0 s, usually 10.0 s",
    "tokens/s": "52,429, usually 52,400",
}

_PINNED = 113_450
_CAUSES = {PIVOT_STEP: "pivot", RESTART_STEP - 33: "stop", 113_450: "signal"}


def fixed_view(n_checkpoints: int = 1140) -> RunView:
    """The run while it trains, with so many checkpoints on disk."""
    checkpoints = _checkpoints(n_checkpoints)
    return RunView(
        name="andrea-120m",
        path=Path("runs/v3"),
        status=Status(word="training"),
        is_running=True,
        pid=4242,
        takes_signals=True,
        step=STEP,
        total_steps=200_000,
        last=LossPoint(step=STEP, loss=2.7026, ema=2.8135),
        steps_per_minute=6.0,
        eta_seconds=(200_000 - STEP) * STEP_SECONDS,
        attempt=4,
        phase=2,
        phase_start_step=PIVOT_STEP,
        checkpoints=checkpoints,
        checkpoint_bytes=CHECKPOINT_BYTES * len(checkpoints),
        checkpoint_every=100,
        skipped=(Skipped(path=Path("step_113000.bin.old"), reason="name is no checkpoint's"),),
        audits=_audits(checkpoints),
        arms=tuple(
            ArmRow(
                name=name,
                state=ArmState(
                    pulls=pulls,
                    ema_reward=reward,
                    weight=weight,
                    probability=probability,
                    floor=floor,
                    cap=cap,
                ),
            )
            for name, (pulls, reward, weight, probability, floor, cap) in _ARMS.items()
        ),
        zombies=(Zombie(arm="repo-docstrings", pulls=9120, weight=1.546, reason="no text there"),),
        health=fixed_health(),
        room=Room(free_bytes=612_000_000_000, checkpoint_bytes=CHECKPOINT_BYTES),
        full_in_seconds=4.2 * 86_400,
        marks=(
            Mark(step=RESTART_STEP, kind=MarkKind.RESTART, label="restart"),
            Mark(step=PIVOT_STEP, kind=MarkKind.PHASE, label="phase 2"),
        ),
        history_version=STEP,
        n_records=STEP,
        log_tail=_log(),
        notes=("replay of steps 113,451 to 113,466 proven",),
    )


def fixed_health() -> Health:
    """Nothing is wrong with any series."""
    return Health(verdict="healthy", lines=tuple(map(_well, _SERIES)))


def ill_health() -> Health:
    """The score falls since nine days, and one arm's text is bad since two."""
    score = Reason(
        kind="score",
        series="score",
        since_step=36_182,
        past=75.1,
        now=37.4,
        text="audit score 75 → 37",
        sigmas=21.4,
        since_t=NOW - (STEP - 36_182) * STEP_SECONDS,
    )
    chat = Reason(
        kind="source",
        series="loss of chat",
        since_step=95_940,
        past=2.95,
        now=3.61,
        text="loss of chat 2.95 → 3.61",
        sigmas=7.2,
        since_t=NOW - (STEP - 95_940) * STEP_SECONDS,
    )
    ill = {reason.series: _ill(reason) for reason in (score, chat)}
    lines = tuple(ill.get(name) or _well(name) for name in _SERIES)
    return Health(verdict="ill", reasons=(score, chat), lines=lines)


def _well(series: str) -> SeriesLine:
    return SeriesLine(series=series, now=None, past=None, since_step=None, text=_SERIES[series])


def _ill(reason: Reason) -> SeriesLine:
    return SeriesLine(
        series=reason.series,
        now=reason.now,
        past=reason.past,
        since_step=reason.since_step,
        text=reason.text,
    )


def fixed_series() -> Series:
    """Its loss, one record a step: a falling curve, a noise, a step down at the pivot."""
    step = np.arange(1, STEP + 1)
    smooth = 2.92 + 7.2 * np.exp(-((step / 900.0) ** 0.42)) - 0.11 * (step > PIVOT_STEP)
    noise = np.random.default_rng(1337).normal(0.0, 0.09, len(step))
    series = Series()
    series.append_many(step, smooth + noise, smooth)
    return series


def fixed_glance() -> Glance:
    """View and history together."""
    return Glance(fixed_view(), fixed_series().view())


def fixed_machine() -> Machine:
    """One card at full work, on a machine of 16 processors."""
    gpu = Gpu(
        index=0,
        name="NVIDIA H100 80GB HBM3",
        busy=0.98,
        used_bytes=62_100_000_000,
        total_bytes=85_520_000_000,
        celsius=71,
        watts=412.0,
        most_watts=700.0,
        slowed_by=(),
        ecc_corrected=0,
        ecc_uncorrected=0,
        is_trainers=True,
        trainer_bytes=61_400_000_000,
    )
    return Machine(
        gpus=Gpus(rows=(gpu,)),
        cpu_share=0.12,
        ram_used_bytes=31_000_000_000,
        ram_bytes=135_000_000_000,
        trainer=Process(rss_bytes=3_210_000_000, peak_bytes=4_120_000_000, write_rate=14_400_000.0),
        room=Room(free_bytes=612_000_000_000, free_inodes=31_200_000),
        recent=tuple(level / 7 for level in (7, 7, 6, 7, 7, 2, 7, 7, 7, 6, 7, 7)),
    )


def ill_view() -> RunView:
    """The same run after its score began to fall, its disk almost full."""
    health = ill_health()
    judged = {
        "score: audit score 75 → 37 since step ~36,200": 36_182,
        "loss of chat: loss of chat 2.95 → 3.61 since step ~95,900": 95_940,
    }
    free = 3_100_000_000
    disk = "disk almost full: 3.10 GB free, room for 2 more checkpoints"
    return replace(
        fixed_view(),
        health=health,
        alarms=(disk, *judged),
        judged_alarms=judged,
        room=Room(free_bytes=free, checkpoint_bytes=CHECKPOINT_BYTES),
        full_in_seconds=2100.0,
    )


def eventful_view() -> RunView:
    """The same run with what happened to it."""
    return replace(fixed_view(), events=tuple(_event(*each) for each in _EVENTS))


def _event(step: int, kind: EventKind, text: str, severity: Severity = Severity.OK) -> Event:
    t = NOW - (STEP - step) * STEP_SECONDS
    return Event(t=t, step=step, kind=kind, text=text, severity=severity)


def stopping_view() -> RunView:
    """The same run while it stops."""
    status = Status(word="saving", detail="writing step_113943.bin", severity=Severity.BUSY)
    return replace(fixed_view(), status=status, step=STEP + 1)


def stopped_view() -> RunView:
    """The same run after it has stopped."""
    view = fixed_view()
    checkpoints = (*view.checkpoints, _checkpoint(STEP + 1, "stop"))
    status = Status(word="stopped", detail="SIGTERM; checkpoint written", severity=Severity.ENDED)
    return replace(
        view,
        status=status,
        is_running=False,
        pid=None,
        step=STEP + 1,
        checkpoints=checkpoints,
        audits=_audits(checkpoints),
        steps_per_minute=None,
        eta_seconds=None,
    )


def _audits(checkpoints: tuple[CheckpointRow, ...]) -> tuple[Audit, ...]:
    return tuple(row.audit for row in checkpoints if row.audit is not None)


def _checkpoints(count: int) -> tuple[CheckpointRow, ...]:
    newest = STEP // 100 * 100
    steps = range(newest - 100 * (count - 1), newest + 1, 100)
    rows = [_checkpoint(step, _CAUSES.get(step, "cadence")) for step in steps if step > 0]
    if count > 10:
        rows.append(_checkpoint(113_450, "signal"))
    return tuple(sorted(rows, key=lambda row: row.step))


def _checkpoint(step: int, cause: str) -> CheckpointRow:
    name = f"step_{step:06d}.bin"
    written = NOW - (STEP - step) * STEP_SECONDS
    return CheckpointRow(
        step=step,
        name=name,
        n_bytes=CHECKPOINT_BYTES,
        modified=written,
        cause=cause,
        audit=_audit(step, name, cause, written),
        goes=not (why := _why_it_stays(step)),
        stays=why,
        note="before the learning rate" if why == "pinned" else None,
    )


def _why_it_stays(step: int) -> str:
    """With keep_last = 3, keep_every = 1,000 and a pin."""
    newest = STEP // 100 * 100
    if step >= newest - 200:
        return "the newest" if step >= newest else "one of the last"
    if step == _PINNED:
        return "pinned"
    return "a multiple of 1,000" if step % 1_000 == 0 else ""


def _audit(step: int, checkpoint: str, cause: str, t: float) -> Audit:
    wave = (step // 100 * 617 % 1000) / 1000.0
    rise = min(step / 90_000.0, 1.0) ** 0.5
    parts = (18 + 8 * rise + 3 * wave, 22 + 7 * rise + 2 * wave, 4 + 9 * rise + wave, 6 + wave)
    is_even = step // 100 % 2 == 1
    return Audit(
        step=step,
        checkpoint=checkpoint,
        phase=2 if step > PIVOT_STEP else 1,
        cause=cause,
        prompt="The readline() method ",
        text=_TEXT if is_even else _TEXT_BEFORE,
        tokens=420,
        score=sum(parts),
        bigram_diversity=parts[0],
        trigram_diversity=parts[1],
        english_words=parts[2],
        character_diversity=parts[3],
        val_loss=2.86 + 4 * (1 - rise) - 0.02 * wave,
        seconds=6.4,
        t=t,
    )


def _log() -> tuple[str, ...]:
    lines = [
        "resumed from step_113450.bin, attempt 4",
        "replay of steps 113,451 to 113,466: proven",
    ]
    for step in range(113_500, STEP, 100):
        lines.append(f"step {step:,}: loss {2.83 + (step * 31 % 97) / 1000:.4f}")
        lines.append(f"checkpoint step_{step:06d}.bin, 1.44 GB in 1.9 s; sample score 72.4")
    return tuple(lines)

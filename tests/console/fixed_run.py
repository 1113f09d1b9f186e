"""A run as it could stand two weeks in: the same at every call, for tests and screenshots."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from console.chart.series import Series
from console.view.disk_forecast import Room
from console.view.glance import Glance
from console.view.gpu import Gpu, Gpus
from console.view.machine import Machine, Process
from console.view.run_view import (
    ArmRow,
    Audit,
    CheckpointRow,
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
    )


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

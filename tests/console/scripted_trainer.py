"""A trainer without a model: real lock, records, state, signals and exits, at a chosen pace.

Run as `python tests/console/scripted_trainer.py [options] RUN`; says `ready` on stdout when it
takes signals. While RUN/pause exists it takes no step, while RUN/fail-saves exists every save
fails, while RUN/vanish exists at a step it dies as if killed: so a test steers it by facts, not
by sleeping. Checkpoints are sparse files of the model's real size.
"""

import argparse
import math
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from trainer.rundir.checkpoints.checkpoint import (
    checkpoint_bytes,
    checkpoint_name,
    list_checkpoints,
)
from trainer.rundir.config.run_toml import flat_settings, load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import EXIT_WORDS, LockedError
from trainer.rundir.records.record_file import RecordArray
from trainer.rundir.state import ArmState, Save, State, write_state

IDLE_SECONDS = 0.005


class ScriptedTrainer:
    """One attempt; `train` returns the exit code."""

    def __init__(self, run: RunDirectory, options: argparse.Namespace) -> None:
        self.run = run
        self.options = options
        settings = load_settings(run.settings)
        self.settings = flat_settings(settings)
        self.n_params = settings.model.n_params
        self.every = options.every or settings.checkpoint.every
        self.total_steps = options.total_steps or settings.train.total_steps
        self.threshold = settings.audit.threshold
        self.requests = self.stops = self.stop_signal = 0
        self.last_save: Save | None = None
        newest = list_checkpoints(run.path, self.n_params).newest
        self.step = newest.step if newest else 0
        self.losses = RecordArray(run.loss)
        self.samples = RecordArray(run.samples)
        self.attempt = 1 + max((r.get("attempt", 0) for r in self.losses.records), default=0)
        self.recorded = max((r.get("step", 0) for r in self.losses.records), default=0)

    def take_signals(self) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1, signal.SIGTERM, signal.SIGINT})

    def _note(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGUSR1:
            self.requests += 1
        else:
            self.stops, self.stop_signal = self.stops + 1, number

    def train(self) -> int:
        self.tell("training")
        print("ready", flush=True)
        while self.step < self.total_steps and not self.stops:
            if (self.run.path / "vanish").exists():
                os.kill(os.getpid(), signal.SIGKILL)
            self._take_one_step()
            if self.requests > (self.last_save.requests if self.last_save else 0):
                self.save("signal")
            elif self.step and self.step % self.every == 0:
                self.save("cadence")
        if self.stops:
            self.tell("stopping")
        self.save("stop" if self.stops else "end")
        code = 128 + self.stop_signal if self.stops else 0
        self.tell("stopped" if self.stops else "finished", exit_code=code)
        return code

    def _take_one_step(self) -> None:
        deadline = time.monotonic() + self.options.step_seconds
        while self._has_to_wait(deadline):
            time.sleep(IDLE_SECONDS)
        if not self.stops and not (self.run.path / "pause").exists():
            self.step += 1
            self._record()

    def _has_to_wait(self, deadline: float) -> bool:
        wanted = self.stops or self.requests > (self.last_save.requests if self.last_save else 0)
        is_paused = (self.run.path / "pause").exists()
        return not wanted and (is_paused or time.monotonic() < deadline)

    def _record(self) -> None:
        if self.step <= self.recorded:
            return
        loss = 6 * math.exp(-self.step / 500) + 2
        self.losses.append(
            {
                "step": self.step,
                "attempt": self.attempt,
                "phase": 1,
                "arm": "stdlib-docs",
                "loss": loss,
                "ema": loss + 0.01,
                "lr": 1e-3,
                "grad_norm": 0.7,
                "reward": 0.5,
                "tokens": 1024,
                "ms": self.options.step_seconds * 1000,
                "t": self._wall(),
            }
        )
        if self.options.with_state:
            self.tell("training")

    def _wall(self) -> float:
        return time.time() + float(self.options.clock_ahead_seconds)

    def save(self, cause: str) -> None:
        self.tell("saving")
        path = self.run.path / checkpoint_name(self.step)
        error = "No space left on device" if (self.run.path / "fail-saves").exists() else ""
        if not error and not path.exists():
            self.losses.sync()
            beside = path.with_name(f".{path.name}.partial")
            header = self.step.to_bytes(4, "little") + self.n_params.to_bytes(4, "little")
            beside.write_bytes(header)
            os.truncate(beside, checkpoint_bytes(self.n_params))
            beside.rename(path)
            self._audit(path, cause)
        self.last_save = Save(
            step=self.step,
            cause=cause,
            ok=not error,
            bytes=checkpoint_bytes(self.n_params),
            seconds=0.01,
            error=error,
            t=time.time(),
            requests=self.requests,
        )
        self.tell("training")

    def _audit(self, path: Path, cause: str) -> None:
        self.samples.append(
            {
                "step": self.step,
                "checkpoint": path.name,
                "bytes": checkpoint_bytes(self.n_params),
                "sha256": "0" * 64,
                "phase": 1,
                "cause": cause,
                "prompt": "The",
                "text": f"The sample of step {self.step}.\nIts second line.",
                "tokens": 420,
                "score": 60.0,
                "bigram_diversity": 30.0,
                "trigram_diversity": 20.0,
                "english_words": 5.0,
                "character_diversity": 5.0,
                "val_loss": 2.5,
                "ms": 12.0,
                "t": time.time(),
            }
        )

    def tell(self, doing: str, *, exit_code: int | None = None) -> None:
        if not self.options.with_state:
            return
        state = State(
            doing=doing,
            takes_signals=True,
            pid=os.getpid(),
            t=self._wall(),
            step=self.step,
            total_steps=self.total_steps,
            attempt=self.attempt,
            settings=self.settings,
            arms={"stdlib-docs": ArmState(pulls=self.step, ema_reward=0.5, weight=1.0)},
            last_save=self.last_save,
            exit_code=exit_code,
            reason="" if exit_code is None else EXIT_WORDS[exit_code],
        )
        write_state(self.run.state, state)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--step-seconds", type=float, default=0.01)
    parser.add_argument("--clock-ahead-seconds", type=float, default=0.0)
    parser.add_argument("--every", type=int, default=0, help="0: as run.toml says")
    parser.add_argument("--total-steps", type=int, default=0, help="0: as run.toml says")
    parser.add_argument("--no-state", dest="with_state", action="store_false")
    return parser.parse_args(arguments)


def main() -> int:
    options = parse(sys.argv[1:])
    run = RunDirectory(options.run)
    # A launcher that holds the lock for a foreign command says so, and through which descriptor.
    if "ANDREA_LOCK_FD" not in os.environ:
        try:
            TrainerLock(run.lock)
        except LockedError as error:
            print(error, file=sys.stderr)
            return int(error.exit_code)
    scripted = ScriptedTrainer(run, options)
    scripted.take_signals()
    return scripted.train()


if __name__ == "__main__":
    raise SystemExit(main())

"""One checkpoint and its audit: saved durably behind its history, sampled, judged."""

import hashlib
import time
from dataclasses import asdict

from trainer.engine.engine import Engine, SampleGivenUp
from trainer.history import LossHistory
from trainer.proxy.audit import Audit, audit
from trainer.proxy.feed import Feed
from trainer.proxy.gate import judge
from trainer.reporter import Reporter
from trainer.rundir.checkpoint import Checkpoint, checkpoint_name, write_checkpoint
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import GateError, SaveError
from trainer.rundir.records import RecordArray, load_records
from trainer.rundir.settings import Settings
from trainer.rundir.state import Save

SAVE_ALARM = "checkpoint not saved"
_TRIES = 2


class Checkpointer:
    """Writes the engine's state and keeps `.samples.json`, one audit a checkpoint."""

    def __init__(
        self,
        *,
        run: RunDirectory,
        settings: Settings,
        engine: Engine,
        feed: Feed,
        history: LossHistory,
        reporter: Reporter,
    ) -> None:
        """Open `.samples.json` (repaired if torn); raises `OSError` or `HistoryError`."""
        self._run = run
        self._settings = settings
        self._engine = engine
        self._feed = feed
        self._history = history
        self._reporter = reporter
        self._samples = RecordArray(run.samples)
        self.repair = self._samples.repair
        self.newest_step: int | None = None
        """Step of the newest checkpoint on disk."""

    def save(self, cause: str, requests: int) -> bool:
        """Write `step_N.bin` of the engine's step, tried twice; whether it is there now.

        A failure is an alarm, and the next cadence tries again. `requests`: SIGUSR1s answered.
        """
        step = self._engine.step
        if self.newest_step == step:
            self._answer(requests)
            return True
        self._reporter.now(doing="saving", step=step, detail=checkpoint_name(step))
        error = ""
        for _ in range(_TRIES):
            try:
                self._history.sync()
                written = write_checkpoint(self._run.path, step, self._engine.state_views())
            except OSError as failure:
                error = f"{failure.strerror} ({failure.filename or self._run.path})"
                self._reporter.say(f"saving step {step} failed: {error}")
                continue
            self.newest_step = step
            self._sha256 = written.sha256
            save = Save(
                step=step,
                cause=cause,
                ok=True,
                bytes=written.n_bytes,
                seconds=written.seconds,
                t=time.time(),
                requests=requests,
            )
            self._reporter.clear_alarms(SAVE_ALARM)
            self._reporter.now(last_save=save)
            self._reporter.say(
                f"{written.path.name} written: {written.n_bytes:,} bytes"
                f" in {written.seconds:.2f} s ({cause})"
            )
            return True
        failed = Save(step=step, cause=cause, error=error, t=time.time(), requests=requests)
        self._reporter.now(last_save=failed)
        self._reporter.alarm(f"{SAVE_ALARM}: step {step}: {error}")
        return False

    def require_saved(self) -> None:
        """Raise `SaveError` unless the engine's step is on disk: before the process ends."""
        if self.newest_step != self._engine.step:
            raise SaveError(
                f"step {self._engine.step} could not be saved: make room or mend the disk, then"
                f" start the trainer again; it resumes from"
                f" {'the start' if self.newest_step is None else checkpoint_name(self.newest_step)}"
            )

    def audit(self, cause: str) -> None:
        """Sample the checkpoint just written; raises `GateError` if the run should halt."""
        step = self._engine.step
        self._reporter.now(doing="sampling", step=step, detail=f"audit of step {step}")
        try:
            result = audit(
                self._engine,
                self._feed.tokenizer,
                self._feed.held_out(),
                step=step,
                seed=self._settings.seed,
                settings=self._settings.audit,
                context=self._settings.model.context,
            )
        except SampleGivenUp:
            self._reporter.say(f"audit of step {step} skipped: the next start makes it")
            return
        record = self._record(result, cause)
        self._samples.records.append(record)
        try:
            self._samples.append(record)
            self._samples.sync()
        except OSError as error:
            self._reporter.alarm(f"audit not written: step {step}: {error.strerror}")
        val_loss = "-" if result.val_loss is None else f"{result.val_loss:.4f}"
        self._reporter.say(
            f"audit of step {step}: score {result.coherence.score:.1f}, val_loss {val_loss}"
        )
        self._judge()

    def owes_audit(self, checkpoint: Checkpoint) -> bool:
        """Whether a crash, or a second stop, came between this checkpoint and its audit."""
        audited = {record.get("step") for record in self._samples.records}
        phases = self._run.archived_phases()
        if phases:
            archived = load_records(phases[-1][1] / self._run.samples.name)
            audited |= {record.get("step") for record in archived.records}
        return checkpoint.step not in audited

    def adopt(self, checkpoint: Checkpoint, *, is_hash_needed: bool) -> None:
        """Take the checkpoint that was resumed from as the newest."""
        self.newest_step = checkpoint.step
        if is_hash_needed:
            with checkpoint.path.open("rb") as file:
                self._sha256 = hashlib.file_digest(file, "sha256").hexdigest()

    def close(self) -> None:
        self._samples.close()

    def _answer(self, requests: int) -> None:
        """A request at a step that is on disk already: nothing is written, it is answered."""
        before = self._reporter.state.last_save
        if before is None or before.requests < requests:
            name = checkpoint_name(self._engine.step)
            save = Save(
                step=self._engine.step,
                cause="signal",
                ok=True,
                bytes=(self._run.path / name).stat().st_size,
                t=time.time(),
                requests=requests,
            )
            self._reporter.now(last_save=save)
            self._reporter.say(f"{name} is there already: nothing to write")

    def _record(self, result: Audit, cause: str) -> dict[str, object]:
        name = checkpoint_name(self._engine.step)
        coherence = result.coherence
        return {
            "step": self._engine.step,
            "checkpoint": name,
            "bytes": (self._run.path / name).stat().st_size,
            "sha256": self._sha256,
            "cause": cause,
            "phase": self._reporter.state.phase,
            "prompt": result.prompt,
            "text": result.text,
            "tokens": result.tokens,
            "score": coherence.score,
            **asdict(coherence),
            "val_loss": result.val_loss,
            "val_losses": result.val_losses,
            "ms": result.ms,
            "t": time.time(),
        }

    def _judge(self) -> None:
        settings = self._settings
        verdict = judge(
            self._samples.records,
            settings=settings.audit,
            warmup_steps=settings.optimizer.warmup_steps,
        )
        if verdict.should_halt:
            raise GateError(
                f"{verdict.low_in_a_row} audits in a row under audit.threshold ="
                f" {settings.audit.threshold:g}, the last at step {verdict.last_step}: look at the"
                f" samples; go back to an older checkpoint, or set audit.patience = 0 in run.toml"
            )

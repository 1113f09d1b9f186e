"""One checkpoint and its audit: saved durably behind its history, sampled, judged."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from trainer.engine.engine import Engine
from trainer.persistence.background_save import Saver
from trainer.persistence.loss_history import LossHistory
from trainer.persistence.reporter import Reporter
from trainer.proxy.audit import Audit, Sample, audit
from trainer.proxy.feed import Feed
from trainer.proxy.gate import judge
from trainer.rundir.checkpoints.checkpoint import (
    Checkpoint,
    Skipped,
    Written,
    checkpoint_bytes,
    checkpoint_name,
    inspect_checkpoint,
)
from trainer.rundir.checkpoints.cloning import digest_of
from trainer.rundir.checkpoints.thinning import plan_of, thin
from trainer.rundir.config.continuity import digests_of
from trainer.rundir.config.run_toml import flat_settings
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import shown
from trainer.rundir.outcomes import GateError, HistoryError, SaveError
from trainer.rundir.records.record_file import Record, RecordArray, load_records
from trainer.rundir.state import Save

SAVE_ALARM = "checkpoint not saved"
NO_CHECKPOINT_ALARM = "no checkpoint to resume from"
AUDIT_ALARM = "audit not written"
THIN_ALARM = "checkpoints not thinned"


class AuditSkipped(Exception):  # noqa: N818 - a wish of the operator, no error
    """A second stop came: the next start makes the audit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """The save under way."""

    step: int
    cause: str
    requests: int
    """SIGUSR1s that it answers."""


class Checkpointer:
    """Saves in the background and keeps `.samples.json`, one audit a checkpoint."""

    def __init__(
        self,
        *,
        run: RunDirectory,
        settings: Settings,
        engine: Engine,
        feed: Feed,
        history: LossHistory,
        reporter: Reporter,
        skips_audit: Callable[[], bool],
    ) -> None:
        """Open `.samples.json` (repaired if torn); raises `OSError` or `HistoryError`."""
        self._run = run
        self._settings = settings
        self._engine = engine
        self._feed = feed
        self._history = history
        self._reporter = reporter
        self._skips_audit = skips_audit
        self._samples = RecordArray(run.samples)
        self.repair = self._samples.repair
        self._saver = Saver(run.path, engine.parameters, history.sync)
        engine.before_update = self._saver.before_update
        engine.before_token = self._between_tokens
        self._environment = {
            "tokenizer": feed.tokenizer.sha256,
            "texts": feed.texts(),
            "settings": digests_of(flat_settings(settings)),
        }
        self._n_bytes = checkpoint_bytes(engine.parameters.n_params)
        self._begun: _Begun | None = None
        self._audit: Record | None = None
        """The audit whose checkpoint is not whole yet."""
        self._newest_sha256 = ""
        self._skipped: set[str] = set()
        """Names of the files that were told not to be this run's checkpoints."""
        self.requests_taken = 0
        """SIGUSR1s that a checkpoint, whole or under way, answers."""
        self.newest_step: int | None = None
        """Step of the newest checkpoint on disk."""

    def checkpoint(self, cause: str, requests: int) -> None:
        """Save the engine's step in the background and audit it meanwhile.

        A step that is on disk already is not written again; the requests are answered by it.
        A save that fails is an alarm, and the next cadence tries again. Raises `GateError`.
        """
        step = self._engine.step
        self.settle(wait=True)
        self.requests_taken = requests
        if self.newest_step == step and not self._why_not_whole(step):
            self._answer(requests)
            return
        if self._begin(cause, requests):
            self.audit(cause)
            self.settle()

    def rescue(self) -> str:
        """After an error: save the last finished step; why not, if that can't be done.

        Its audit is left to the next start.
        """
        step = self._engine.step
        self._settle_save(wait=True)
        if not step or (self.newest_step == step and not self._why_not_whole(step)):
            return ""
        if not self._engine.is_whole:
            return f"the error came in the middle of update {step + 1:,}"
        if self._history.step != step:
            return f"step {step:,} has no record in the history"
        if self._engine.ranks.is_in_step:
            return "the ranks were in the middle of a step"
        if not self._engine.are_finite():
            return f"the weights of step {step:,} are not finite"
        if self._begin("emergency", self.requests_taken):
            self._settle_save(wait=True)
        return "it could not be written" if self.newest_step != step else self._why_not_whole(step)

    def settle(self, *, wait: bool = False) -> None:
        """Report a save that has ended, and put its audit on file; `wait` for one under way.

        Raises `GateError` if the audits say that the run should halt.
        """
        self._settle_save(wait=wait)
        self._look_at_audits()
        if self._audit is not None and self._audit["step"] == self.newest_step:
            record, self._audit = self._audit, None
            self._write_audit(record)
            self._thin()
            self._judge()

    def require_saved(self) -> None:
        """Raise `SaveError` unless the engine's step and its history are on disk, by a look at it:
        before the process ends.
        """
        self.settle(wait=True)
        step = self._engine.step
        if self.newest_step == step and self._why_not_whole(step):
            self._save_again()
        try:
            self._history.flush()
            self._history.sync()
        except OSError as error:
            raise SaveError(f"{self._run.loss}: can't be written: {error.strerror}") from error
        self._reporter.mended(self._history.mended)
        if self.newest_step != step:
            newest = "the start" if self.newest_step is None else checkpoint_name(self.newest_step)
            raise SaveError(
                f"step {step:,} could not be saved: make room or mend the disk, then"
                f" start the trainer again; it resumes from {newest} and trains those steps again"
            )
        if why_not := self._why_not_whole(step):
            raise SaveError(
                f"{self._run.path / checkpoint_name(step)}: was written whole, but {why_not};"
                " put it back, or start the trainer again: it resumes from the newest checkpoint"
                " that is there and trains those steps again"
            )

    def _why_not_whole(self, step: int) -> str:
        """What is wrong with the checkpoint of `step` on disk; empty if it is there, whole."""
        name, n_params = checkpoint_name(step), self._engine.parameters.n_params
        found = inspect_checkpoint(self._run.path / name, step, n_params)
        if found is None:
            return "it is not there any more"
        return found.reason if isinstance(found, Skipped) else ""

    def _save_again(self) -> None:
        """The checkpoint was written, and is gone: its audit stays."""
        self._reporter.note(f"{checkpoint_name(self._engine.step)} is gone: written again")
        self.newest_step = None
        if self._begin("stop", self.requests_taken):
            self._settle_save(wait=True)

    def audit(self, cause: str) -> None:
        """Sample the engine's step; the record waits for `settle`."""
        step = self._engine.step
        doing = "stopping" if cause == "stop" else "sampling"
        self._reporter.now(doing=doing, step=step, detail=f"audit of step {step:,}")
        try:
            result = audit(
                self._engine,
                self._feed.tokenizer,
                {**self._feed.held_out(), **self._feed.test_texts()},
                step=step,
                seed=self._settings.seed,
                settings=self._settings.audit,
                context=self._settings.model.context,
            )
        except AuditSkipped:
            self._reporter.say(f"audit of step {step:,} skipped: the next start makes it")
            return
        self._audit = record = self._record(result, step, cause)
        val_loss = "-" if result.val_loss is None else f"{result.val_loss:.4f}"
        self._reporter.say(
            f"audit of step {step:,}: score {record['score']:.1f}, val_loss {val_loss}"
        )

    def adopt(self, checkpoint: Checkpoint) -> None:
        """Take the checkpoint resumed from as the newest, and make the audit that it is owed."""
        self.newest_step = checkpoint.step
        if self._owes_audit(checkpoint):
            self._newest_sha256 = digest_of(checkpoint.path)
            self.audit("owed")
            self.settle()

    def _begin(self, cause: str, requests: int) -> bool:
        """Start the save of the engine's step; `False`, and an alarm, if its history can't be."""
        step = self._engine.step
        doing = "stopping" if cause == "stop" else "saving"
        self._reporter.now(doing=doing, step=step, detail=checkpoint_name(step))
        self._begun = _Begun(step=step, cause=cause, requests=requests)
        try:
            self._history.flush()
        except OSError as error:
            self._failed(self._begun, error)
            return False
        self._saver.begin(step)
        return True

    def close(self) -> None:
        """Let a save under way end, and tell how it went; its audit is owed to the next start."""
        self._settle_save(wait=True)
        self._saver.close()
        self._samples.close()

    def _settle_save(self, *, wait: bool = False) -> None:
        if self._begun is None or not (wait or self._saver.is_done):
            return
        begun, self._begun = self._begun, None
        try:
            written = self._saver.collect()
        except OSError as error:
            self._failed(begun, error)
        else:
            self._saved(begun, written)

    def _saved(self, begun: _Begun, written: Written) -> None:
        self.newest_step = begun.step
        self._newest_sha256 = written.sha256
        if self._saver.retried:
            self._reporter.note(self._saver.retried)
        if written.aside is not None:
            self._reporter.note(
                f"{written.path.name} was there with other bytes: kept as {written.aside.name}"
            )
        self._reporter.over(SAVE_ALARM)
        self._reporter.over(NO_CHECKPOINT_ALARM)
        self._report(begun, n_bytes=written.n_bytes, seconds=written.seconds)
        self._reporter.say(
            f"{written.path.name} written: {written.n_bytes:,} bytes"
            f" in {written.seconds:.2f} s ({begun.cause})"
        )

    def _failed(self, begun: _Begun, error: OSError) -> None:
        self._begun = self._audit = None
        why = f"{error.strerror} ({shown(error.filename or self._run.path)})"
        self._report(begun, error=why)
        self._reporter.alarm(SAVE_ALARM, f"step {begun.step:,}: {why}")

    def _report(
        self, begun: _Begun, *, n_bytes: int = 0, seconds: float = 0.0, error: str = ""
    ) -> None:
        save = Save(
            step=begun.step,
            cause=begun.cause,
            ok=not error,
            bytes=n_bytes,
            seconds=seconds,
            error=error,
            t=time.time(),
            requests=begun.requests,
        )
        self._reporter.now(last_save=save)

    def _answer(self, requests: int) -> None:
        """Requests at a step that is on disk already: nothing is written, they are answered."""
        before = self._reporter.state.last_save
        if (before.requests if before else 0) < requests:
            step = self._engine.step
            begun = _Begun(step=step, cause="signal", requests=requests)
            self._report(begun, n_bytes=self._n_bytes)
            self._reporter.say(f"{checkpoint_name(step)} is there already: nothing to write")

    def _between_tokens(self) -> None:
        if self._skips_audit():
            raise AuditSkipped
        self._engine.ranks.require_all()
        self._settle_save()

    def _owes_audit(self, checkpoint: Checkpoint) -> bool:
        """Whether a crash, or a second stop, came between this checkpoint and its audit."""
        audited = {record.get("step") for record in self._samples.records}
        phases = self._run.archived_phases()
        if phases:
            archived = load_records(phases[-1][1] / self._run.samples.name)
            audited |= {record.get("step") for record in archived.records}
        return checkpoint.step not in audited

    def _record(self, result: Audit, step: int, cause: str) -> Record:
        all_samples = [_sample_fields(sample) for sample in result.samples]
        return {
            "step": step,
            "checkpoint": checkpoint_name(step),
            "cause": cause,
            "phase": self._reporter.state.phase,
            **_sample_fields(result.samples[0]),
            **({"samples": all_samples} if len(all_samples) > 1 else {}),
            "val_loss": result.val_loss,
            "val_losses": result.val_losses,
            **({"test_losses": result.test_losses} if result.test_losses else {}),
            "val_rows": result.val_rows,
            "val_row_counts": result.val_row_counts,
            "held_out_rows": self._settings.audit.held_out_rows,
            "environment": self._environment,
            "ms": result.ms,
            "t": time.time(),
        }

    def _write_audit(self, record: Record) -> None:
        whole = {**record, "bytes": self._n_bytes, "sha256": self._newest_sha256}
        self._samples.records.append(whole)
        try:
            self._samples.append(whole)
            self._samples.sync()
        except OSError as error:
            self._reporter.alarm(AUDIT_ALARM, f"step {record['step']:,}: {error.strerror}")
        else:
            self._reporter.over(AUDIT_ALARM)

    def _look_at_audits(self) -> None:
        """Mend the file where somebody removed or changed it; write what found no room before."""
        has_waited = bool(self._samples.pending)
        try:
            self._samples.flush()
            if has_waited:
                self._samples.sync()
        except OSError as error:
            if not has_waited:
                self._reporter.alarm(AUDIT_ALARM, error.strerror or str(error))
            return
        self._reporter.mended(self._samples.mended)
        if has_waited:
            self._reporter.over(AUDIT_ALARM)

    def _thin(self) -> None:
        """Let go what retention allows: the newest checkpoint and its audit are durable by now."""
        if not self._settings.checkpoint.keep_last:
            return
        nonfinite_steps, written = self._history.nonfinite_steps, self.newest_step
        try:
            plan = plan_of(self._run, self._settings, nonfinite_steps, written=written)
            plan = thin(self._run, plan)
        except (OSError, HistoryError) as error:
            self._reporter.alarm(THIN_ALARM, str(error))
            return
        self._reporter.over(THIN_ALARM)
        self._tell_skipped(plan.skipped)
        if plan.going:
            names = ", ".join(checkpoint.path.name for checkpoint in plan.going)
            self._reporter.say(f"thinned {names}: {plan.freed_bytes:,} bytes")

    def _tell_skipped(self, skipped: Sequence[Skipped]) -> None:
        """Once a file: one that is copied in while the run goes on is told, too."""
        for skip in skipped:
            if skip.path.name not in self._skipped:
                self._skipped.add(skip.path.name)
                self._reporter.say(f"skipped {skip.path.name}: {skip.reason}")

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
                f" {settings.audit.threshold:g}, the last at step {verdict.last_step:,}: read the"
                " samples; go back to an older checkpoint, or set audit.patience = 0 in run.toml"
            )


def _sample_fields(sample: Sample) -> Record:
    return {
        "prompt": sample.prompt,
        "text": sample.text,
        "tokens": sample.tokens,
        "score": sample.coherence.score,
        **asdict(sample.coherence),
    }

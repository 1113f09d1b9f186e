"""`python -m trainer.evaluating`: what `andrea-console evaluate` starts, since it loads torch.

It takes no lock and gives way to a trainer. What it has to say it prints as a line of JSON each:
how far it is, notes, an error, and last the evaluation, which is on disk by then.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from trainer.answering import answer, tell
from trainer.proxy.batches import require_known
from trainer.rundir.checkpoints.checkpoint import Checkpoint, checkpoint_name
from trainer.rundir.checkpoints.cloning import digest_of
from trainer.rundir.checkpoints.coverage import own_checkpoints, require_as_audited
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.config.settings import TEST, Settings
from trainer.rundir.evaluations import Evaluation, add_evaluation
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import shown
from trainer.rundir.outcomes import HistoryError, SettingsError
from trainer.rundir.sources.prepared import TEXT_DIGITS, TokenIndex, read_index, token_folder
from trainer.rundir.sources.token_arrays import held_out_tokens

_TELL_SECONDS = 0.5


def main(argv: Sequence[str] | None = None) -> int:
    """Evaluate, and tell; what is done by a SIGTERM stays."""
    arguments = _parse(argv)
    return answer(
        lambda: evaluate(
            RunDirectory(arguments.run),
            step=arguments.step,
            names=arguments.source,
            device=arguments.device,
        ),
        arguments.run,
    )


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="trainer.evaluating")
    parser.add_argument("run", type=Path)
    parser.add_argument("--step", type=int)
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--device", default="")
    return parser.parse_args(argv)


def evaluate(run: RunDirectory, *, step: int | None, names: Sequence[str], device: str) -> None:
    """Take the loss of the step's checkpoint (`None`: the newest) on the whole held-out text.

    Raises `RunError` or `OSError`; each source that is done is kept at once.
    """
    settings = load_settings(run.settings)
    if settings.trainer.command:
        raise SettingsError(f"{run.settings}: trainer.command names another trainer; ask that one")
    checkpoint = _checkpoint(run, settings, step)
    texts = list(_texts(run, settings, names))
    total = sum(text.targets for text in texts)
    if not texts:
        raise SettingsError(f"{run.path}: no text is held out")
    tell(source="", done=0, total=total)
    # torch takes seconds to load: what is refused is refused before
    from trainer.engine.evaluation import SavedModel  # noqa: PLC0415
    from trainer.proxy.evaluation import held_out_loss  # noqa: PLC0415
    from trainer.proxy.tokenizer import load_tokenizer  # noqa: PLC0415

    require_as_audited(run, checkpoint)
    tokenizer = load_tokenizer(
        run.tokenizer, vocab_size=settings.model.vocab_size, settings=settings.tokenizer
    )
    model = SavedModel(settings, checkpoint, device=device)
    made = Evaluation(
        step=checkpoint.step,
        checkpoint=checkpoint.path.name,
        sha256=digest_of(checkpoint.path),
        device=str(model.placement.facts()["device"]),
        precision=model.placement.precision,
    )
    for text, done in zip(texts, _done_before(texts), strict=True):
        loss = held_out_loss(
            model,
            tokenizer,
            text.tokens,
            context=settings.model.context,
            rows_at_once=settings.train.micro_batch,
            text=text.index.fingerprint[:TEXT_DIGITS],
            told=_Teller(text.name.replace(TEST, "test ", 1), done, total).tell,
        )
        if loss is not None:
            plain = text.name.removeprefix(TEST)
            is_test = text.name.startswith(TEST)
            told = {plain: loss}
            of_text = replace(made, tests=told) if is_test else replace(made, sources=told)
            made = add_evaluation(run, of_text)
    tell(evaluation=made.as_json())


def _checkpoint(run: RunDirectory, settings: Settings, step: int | None) -> Checkpoint:
    own = own_checkpoints(run, settings.model.n_params)
    if step is None and own.newest is not None:
        return own.newest
    found = next((each for each in own.checkpoints if each.step == step), None)
    if found is not None:
        return found
    if step is None:
        raise HistoryError(f"{run.path}: there is no checkpoint yet")
    skipped = next((s for s in own.skipped if s.path.name == checkpoint_name(step)), None)
    why = skipped.reason if skipped else "is not there"
    raise SettingsError(f"{run.path / checkpoint_name(step)}: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """What is held out of a source, or a test set."""

    name: str
    index: TokenIndex
    tokens: NDArray[Any]

    @property
    def targets(self) -> int:
        return max(0, len(self.tokens) - 1)


def _texts(run: RunDirectory, settings: Settings, names: Sequence[str]) -> Iterator[_Text]:
    """Those named, or all; what has none is told."""
    known = {name: name for name in settings.sources} | {n: f"{TEST}{n}" for n in settings.test}
    for name in names:
        if name not in known:
            told = ", ".join(map(shown, known))
            raise SettingsError(f"--source {shown(name)}: the run's sources are {told}")
    for name in [known[name] for name in names or known]:
        folder = token_folder(run.tokens, name)
        index = read_index(folder)
        if index is None:
            tell(note=f"source {shown(name)}: has no tokens yet; a start prepares them")
        elif index.held_out_tokens < 2:
            tell(note=f"source {shown(name)}: nothing is held out of it")
        else:
            tokens = held_out_tokens(folder, index)
            require_known(name, tokens, vocab_size=settings.model.vocab_size)
            yield _Text(name=name, index=index, tokens=tokens)


def _done_before(texts: Sequence[_Text]) -> list[int]:
    """Targets of all the texts before each."""
    return list(accumulate((text.targets for text in texts), initial=0))[:-1]


class _Teller:
    """Tells how far the whole is, at times."""

    def __init__(self, source: str, before: int, total: int) -> None:
        self._source, self._before, self._total = source, before, total
        self._told_at = -_TELL_SECONDS

    def tell(self, done: int) -> None:
        """`done`: targets of this source."""
        if time.monotonic() - self._told_at >= _TELL_SECONDS:
            self._told_at = time.monotonic()
            tell(source=self._source, done=self._before + done, total=self._total)


if __name__ == "__main__":
    sys.exit(main())

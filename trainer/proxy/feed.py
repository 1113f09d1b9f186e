"""What feeds the engine: each step the bandit picks an arm, and the arm gives its next rows."""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.bandit import Bandit
from trainer.proxy.batches import (
    count_rows,
    draw_rows,
    next_rows,
    require_known,
    require_rows,
    rows_given,
)
from trainer.proxy.preparation.meter import extent_of, meter_of
from trainer.proxy.progress import Progress
from trainer.proxy.reward import compute_reward
from trainer.proxy.test_sets import open_tests, rules_apart
from trainer.proxy.tokenizer import TextTokenizer, make_tokenizer
from trainer.proxy.tokens import TokenizedSource, tokenize_source
from trainer.rundir.config.rules import RULES
from trainer.rundir.config.settings import Settings
from trainer.rundir.environment import Environment, lost_tokenizer
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import HistoryError, SourceError, TokenizerError
from trainer.rundir.records.loss_record import LossRecord
from trainer.rundir.sources.documents import fingerprint_of, look_at_files, read_documents
from trainer.rundir.sources.prepared import TEXT_DIGITS, is_gone, read_index, token_folder
from trainer.rundir.sources.text_rules import text_rules
from trainer.rundir.sources.token_arrays import TokenArray, fetch_ahead
from trainer.rundir.state import ArmState


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """One step's batch and where it is from."""

    arm: str
    rows: NDArray[np.int64]
    """(rows, context + 1) token ids."""


class Feed:
    """The sources that exist, the bandit over them, and how many rows each has given."""

    def __init__(
        self,
        *,
        settings: Settings,
        tokenizer: TextTokenizer,
        sources: Mapping[str, TokenizedSource],
        bandit: Bandit,
        given: Counter[str],
        tests: Mapping[str, TokenizedSource],
    ) -> None:
        self.tokenizer = tokenizer
        self.sources = sources
        self.tests = tests
        """Test sets: no batch ever draws from them."""
        self.bandit = bandit
        self._settings = settings
        self._given = given
        for arm in sources:
            self._fetch_next(arm)

    def pull(self, step: int) -> Pull:
        """The batch of update number `step`: a pure function of seed and history.

        Raises `TokensError` where its tokens are damaged.
        """
        arm = self.bandit.choose(step)
        rows = draw_rows(
            self.sources[arm].train,
            context=self._settings.model.context,
            seed=self._settings.seed,
            arm=arm,
            rows_given=self._given[arm],
            rows=self._settings.rows,
            by_number=RULES[self._settings.rules].orders_by_number,
        )
        require_known(arm, rows, vocab_size=self._settings.model.vocab_size)
        return Pull(arm=arm, rows=rows)

    def reward(self, pull: Pull, loss: float) -> float:
        """What the arm earns by this step, in [0, 1]."""
        return compute_reward(pull.rows, loss=loss, ema_loss=self.bandit.ema_loss(pull.arm))

    def settle(self, pull: Pull, *, loss: float, reward: float) -> None:
        """Take the step in, once its update is applied."""
        self._given[pull.arm] += len(pull.rows)
        self.bandit.update(
            pull.arm, loss=loss, reward=reward, tokens=self._settings.train.batch_tokens
        )
        self._fetch_next(pull.arm)

    def _fetch_next(self, arm: str) -> None:
        """Have an arm's next rows in memory by the time that it is picked."""
        context, tokens = self._settings.model.context, self.sources[arm].train
        rows = next_rows(
            count_rows(tokens, context=context),
            seed=self._settings.seed,
            arm=arm,
            rows_given=self._given[arm],
            rows=self._settings.rows,
            by_number=RULES[self._settings.rules].orders_by_number,
        )
        fetch_ahead(tokens, rows, context=context)

    def rows_given(self, name: str) -> int:
        """Rows that the source has given over all phases."""
        return self._given[name]

    def held_out(self) -> dict[str, TokenArray]:
        """Held-out tokens by source: no batch ever draws from them."""
        return {name: source.held_out for name, source in self.sources.items()}

    def test_texts(self) -> dict[str, TokenArray]:
        """Tokens of the test sets."""
        return {name: test.held_out for name, test in self.tests.items()}

    def texts(self) -> dict[str, str]:
        """The first digits of the fingerprint of each source's and test set's text."""
        texts = {**self.sources, **self.tests}
        return {name: s.fingerprint[:TEXT_DIGITS] for name, s in texts.items()}

    def without_val_loss(self) -> dict[str, int]:
        """Sources whose held-out text doesn't fill a row, with the tokens of it."""
        context = self._settings.model.context
        return {
            name: len(tokens)
            for name, tokens in self.held_out().items()
            if not count_rows(tokens, context=context)
        }


def open_feed(
    run: RunDirectory,
    settings: Settings,
    *,
    phase: int,
    past: Iterable[LossRecord],
    remembered: Mapping[str, ArmState],
    trained: Environment | None,
    is_new: bool,
    progress: Progress,
) -> Feed:
    """Tokenizer, tokens and bandit of a run that goes on after the `past` records.

    `trained`: what is known of what the history was trained with; `None`: there is no history.
    `is_new`: nothing was trained in this phase yet. Then a source that is gone is an error, and
    text that has changed comes in; later its prepared tokens stay, and if text and tokens are
    gone, its arm is a zombie.

    Raises `SourceError`, `TokensError`, `TokenizerError`, `PolicyError`, `HistoryError` or
    `OSError`.
    """
    tokenizer, sources, tests = open_sources(
        run,
        settings,
        phase=phase,
        trained=trained,
        is_new=is_new,
        progress=progress,
    )
    bandit = Bandit(
        seed=settings.seed,
        phase=phase,
        available=list(sources),
        policy={name: settings.bounds_of(name) for name in settings.sources},
        remembered=remembered,
    )
    records = [record for record in past if not record.lost]
    require_told(run.loss, records)
    bandit.fold(records)
    given = rows_given(records, context=settings.model.context)
    return Feed(
        settings=settings,
        tokenizer=tokenizer,
        sources=sources,
        bandit=bandit,
        given=given,
        tests=tests,
    )


def open_sources(
    run: RunDirectory,
    settings: Settings,
    *,
    phase: int,
    trained: Environment | None,
    is_new: bool,
    progress: Progress,
) -> tuple[TextTokenizer, dict[str, TokenizedSource], dict[str, TokenizedSource]]:
    """Tokenizer, tokens and test sets of a run, prepared now where they aren't; as `open_feed`."""
    tokenizer = open_tokenizer(run, settings, trained, phase, progress)
    texts = trained.texts if trained else {}
    frozen = None if is_new and (trained is None) else texts
    tests = open_tests(run, settings, tokenizer, frozen, progress)
    rules = rules_apart(run, settings, tests)
    _expect(run, settings, progress)
    sources = {}
    for name, source in settings.sources.items():
        look = partial(progress, 0.0, f"looking for {name}")
        if not is_new and len(settings.sources) > 1 and is_gone(run, name, source, look):
            continue
        sources[name] = tokenize_source(
            name,
            source,
            run=run,
            tokenizer=tokenizer,
            vocab_size=settings.model.vocab_size,
            progress=progress,
            rules=rules,
            frozen=None if is_new else texts.get(name, ""),
        )
        require_rows(name, sources[name].train, context=settings.model.context)
        require_known(name, sources[name].held_out, vocab_size=settings.model.vocab_size)
    return tokenizer, sources, tests


def _expect(run: RunDirectory, settings: Settings, progress: Progress) -> None:
    """Tell the meter of all sources that have no tokens yet."""
    for name, source in settings.sources.items():
        if read_index(token_folder(run.tokens, name)) is None:
            with suppress(SourceError):  # told when its turn comes
                look = partial(progress, 0.0, f"looking for {name}")
                meter_of(progress).expect(name, extent_of(look_at_files(source, run.path, look)))


def require_told(path: Path, records: Iterable[LossRecord]) -> None:
    """Raise `HistoryError` for a record that does not say what its batch was taken from."""
    for record in records:
        if not record.arm or not record.tokens or record.phase is None:
            raise HistoryError(
                f"{path}: the record of step {record.step or 0:,} does not tell its arm, tokens and"
                " phase, from which the batches of a resume follow; restore the file from a backup"
            )


def open_tokenizer(
    run: RunDirectory,
    settings: Settings,
    trained: Environment | None,
    phase: int,
    progress: Progress,
) -> TextTokenizer:
    """The frozen tokenizer; made now for a run without a history.

    With one, only where it comes out the same: by its sha256, or, of a run whose version did not
    keep that, by all texts that it was made of.
    """
    wanted = trained.tokenizer if trained else ""
    is_lost = trained is not None and not run.tokenizer.exists()
    try:
        if trained is not None and is_lost and not wanted:
            _require_its_text(run, settings, trained, phase, progress)
        return make_tokenizer(
            run.tokenizer,
            settings.sources,
            base=run.path,
            vocab_size=settings.model.vocab_size,
            progress=progress,
            rules=text_rules(settings),
            wanted=wanted,
            settings=settings.tokenizer,
        )
    except SourceError as error:
        if not is_lost:
            raise
        raise TokenizerError(f"{lost_tokenizer(run.tokenizer)} ({error})") from error


def _require_its_text(
    run: RunDirectory,
    settings: Settings,
    trained: Environment,
    phase: int,
    progress: Progress,
) -> None:
    """Raise `TokenizerError` unless the texts of a run's first phase are there as they were."""
    for name, source in settings.sources.items():
        known = trained.texts.get(name, "")
        documents = read_documents(
            source,
            run.path,
            rules=text_rules(settings),
            check=partial(progress, 0.0, f"reading {name}"),
            is_checked=False,
        )
        is_own = bool(settings.tokenizer.path)
        if is_own or phase > 1 or not known or not fingerprint_of(documents).startswith(known):
            raise TokenizerError(
                f"{lost_tokenizer(run.tokenizer)} (nothing tells that it would be the same)"
            )

"""The run's settings: a tree of frozen dataclasses, each validated when it is made."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from trainer.rundir.checkpoints.checkpoint import INT32_MAX
from trainer.rundir.config.rules import NEWEST_RULES, RULES
from trainer.rundir.outcomes import SettingsError

PRECISIONS = ("auto", "fp32", "bf16", "fp16")
_DEVICE = re.compile(r"auto|cpu|cuda(:[0-9]+)?")


def _require(condition: bool, setting: str, message: str) -> None:
    if not condition:
        raise SettingsError(f"{setting}: {message}")


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _require_positive(section: str, **values: float) -> None:
    for name, value in values.items():
        is_fine = 0 < value < math.inf
        _require(is_fine, f"{section}.{name}", f"{value} is not a finite number above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The shape of the model."""

    vocab_size: int
    context: int
    """Tokens a row; also the number of learned positions."""
    layers: int
    heads: int
    width: int

    def __post_init__(self) -> None:
        _require_positive(
            "model",
            vocab_size=self.vocab_size,
            context=self.context,
            layers=self.layers,
            heads=self.heads,
            width=self.width,
        )
        _require(
            self.width % self.heads == 0,
            "model.width",
            f"{self.width} is not a multiple of model.heads = {self.heads}",
        )
        _require(
            self.n_params <= INT32_MAX,
            "model",
            f"{self.n_params:,} parameters are more than a checkpoint can hold ({INT32_MAX:,})",
        )

    @property
    def n_params(self) -> int:
        """Number of parameters: embeddings, 12·width² a layer, head."""
        embeddings = (self.vocab_size + self.context) * self.width
        return embeddings + self.layers * 12 * self.width**2 + self.vocab_size * self.width


SEPARATOR = "<|endoftext|>"
"""The token that ends each document, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerSettings:
    """Whose token ids the model learns; they are the run's for ever once it has begun."""

    path: str = ""
    """One's own `tokenizer.json`; empty: learned from the sources' text."""
    separator: str = SEPARATOR
    """The special token that ends a document; of one's own, whatever number it has there."""

    def __post_init__(self) -> None:
        is_own = bool(self.path.strip())
        _require(is_own or not self.path, "tokenizer.path", "is blank")
        _require(
            is_own or self.separator == SEPARATOR,
            "tokenizer.separator",
            f"is {SEPARATOR} where the tokenizer is learned; name one's own as tokenizer.path",
        )


LEARNED_TOKENIZER = TokenizerSettings()
"""Of a run that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """How many steps of how many tokens, on what."""

    total_steps: int
    batch_tokens: int
    """Tokens a step."""
    micro_batch: int
    """Rows of one forward pass; gradients are accumulated up to `batch_tokens`."""
    shares: int = 0
    """Equal parts of a step, each the work of one rank: their gradients are added up in this order,
    whoever has them. 0: each micro-batch is one."""
    ranks: int = 1
    """Processes that train together, a GPU each; no bit depends on them. 0: one for each GPU."""
    rank_timeout_seconds: float = 120.0
    """All end where one of them is not heard of for so long."""
    stop_within_seconds: float = 0.0
    """From a stop signal to the end: a step that can't be saved by then is given up. 0: no
    limit."""
    end_at: str = ""
    """When to stop by itself, as `2026-12-05 18:00`, in the machine's time zone; empty: never."""
    device: str = "auto"
    precision: str = "auto"
    """Of the forward and backward pass; weights, m and v are float32 always."""
    compile: bool = False
    """torch.compile, on CUDA only."""
    deterministic: bool = True
    """Kernels that give the same bits each time; without it a resume is not bit-exact."""

    def __post_init__(self) -> None:
        _require_positive(
            "train",
            total_steps=self.total_steps,
            batch_tokens=self.batch_tokens,
            micro_batch=self.micro_batch,
            rank_timeout_seconds=self.rank_timeout_seconds,
        )
        _require(
            0 <= self.stop_within_seconds < math.inf,
            "train.stop_within_seconds",
            f"{self.stop_within_seconds:g} is no finite number from 0 on",
        )
        _require(
            not self.end_at or _is_moment(self.end_at),
            "train.end_at",
            f"{self.end_at!r} is no moment, as 2026-12-05 18:00",
        )
        _require(self.shares >= 0, "train.shares", f"{self.shares} is below 0")
        _require(self.ranks >= 0, "train.ranks", f"{self.ranks} is below 0")
        _require(
            self.total_steps <= INT32_MAX,
            "train.total_steps",
            f"{self.total_steps:,} is more than a checkpoint can tell ({INT32_MAX:,})",
        )
        _require(
            bool(_DEVICE.fullmatch(self.device)),
            "train.device",
            f"{self.device!r} is none of auto, cpu, cuda, cuda:N",
        )
        _require(
            self.precision in PRECISIONS,
            "train.precision",
            f"{self.precision!r} is none of {', '.join(PRECISIONS)}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerSettings:
    """AdamW and its learning-rate schedule."""

    lr: float
    min_lr: float
    warmup_steps: int
    weight_decay: float = 0.1
    max_grad_norm: float = 1.0

    def __post_init__(self) -> None:
        _require_positive("optimizer", lr=self.lr, max_grad_norm=self.max_grad_norm)
        _require(
            0 <= self.min_lr <= self.lr,
            "optimizer.min_lr",
            f"{self.min_lr} is not between 0 and optimizer.lr = {self.lr}",
        )
        _require(self.warmup_steps >= 0, "optimizer.warmup_steps", "is below 0")
        _require(
            self.weight_decay >= 0 and math.isfinite(self.weight_decay),
            "optimizer.weight_decay",
            f"{self.weight_decay} is not a number from 0 up",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSettings:
    """When checkpoints are written and which are kept."""

    every: int = 100
    """Steps between checkpoints, and between sample audits: one to one."""
    keep_last: int = 0
    """0 keeps all; else the last N stay, and every `keep_every`-th."""
    keep_every: int = 1000

    def __post_init__(self) -> None:
        _require(self.every > 0, "checkpoint.every", f"{self.every} is not above 0")
        _require(self.keep_last >= 0, "checkpoint.keep_last", f"{self.keep_last} is below 0")
        _require(self.keep_every > 0, "checkpoint.keep_every", f"{self.keep_every} is not above 0")


MOST_AUDIT_TOKENS = 1_000_000
"""Hours of sampling, at each checkpoint."""

DEFAULT_HELD_OUT_ROWS = 16
"""Also of audits that don't tell how many they took."""

MOST_HELD_OUT_ROWS = 1000
"""Each audit keeps the loss of every row; `andrea-console evaluate` takes the whole text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """The sample audit at every checkpoint, and the gate that halts a run by it."""

    tokens: int = 420
    """Free tokens of each sample."""
    prompts: tuple[str, ...] = ()
    """Further samples, one behind each; score and gate go by the one without a prompt."""
    threshold: float = 30.0
    """Coherence score (0 to 100) under which an audit counts against the run."""
    patience: int = 5
    """Audits in a row under the threshold that halt the run; 0 turns the gate off."""
    held_out_rows: int = DEFAULT_HELD_OUT_ROWS
    """Rows of each source that `val_loss` is taken from, at most."""

    def __post_init__(self) -> None:
        _require(
            0 < self.held_out_rows <= MOST_HELD_OUT_ROWS,
            "audit.held_out_rows",
            f"{self.held_out_rows} is not from 1 to {MOST_HELD_OUT_ROWS:,}; andrea-console"
            " evaluate takes the loss on the whole held-out text",
        )
        _require(self.tokens > 0, "audit.tokens", f"{self.tokens} is not above 0")
        samples = f" × {self.n_samples:,} samples" if self.prompts else ""
        most = f"{self.tokens:,}{samples} is more than {MOST_AUDIT_TOKENS:,}"
        is_short = self.tokens * self.n_samples <= MOST_AUDIT_TOKENS
        _require(is_short, "audit.tokens", f"{most}: the audit would never end")
        _require(0 <= self.threshold <= 100, "audit.threshold", "is not between 0 and 100")
        _require(self.patience >= 0, "audit.patience", f"{self.patience} is below 0")
        _require(
            "" not in self.prompts,
            "audit.prompts",
            "one is empty; the sample without a prompt is made anyway, as the first",
        )
        twice = next((each for each in self.prompts if self.prompts.count(each) > 1), None)
        _require(twice is None, "audit.prompts", f"{twice!r} is there twice")

    @property
    def n_samples(self) -> int:
        """Samples of an audit: the one without a prompt, and one a prompt."""
        return 1 + len(self.prompts)


TOKENS = "tokens:"
"""Before the path of a source that holds tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSettings:
    """How the sources' text becomes tokens."""

    drop_duplicates: bool = False
    """Of documents of a source with the same text only the first is trained on."""
    held_out_tokens: int = 10_000_000
    """Of a source at most, 1 % of it being less; from rules 4 on."""

    def __post_init__(self) -> None:
        _require_positive("data", held_out_tokens=self.held_out_tokens)


DEFAULT_DATA = DataSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    """Where an arm's text comes from."""

    path: str
    """A file, a folder or a glob, `tokens:` and a file or glob of tokens that are made already, or
    `python:docs|docstrings|code`."""
    field: str = "text"
    """The key of the text in JSON records, or its column."""
    max_odd_share: float = 0.01
    """Of the records: so many may be without a text; they are left out."""

    def __post_init__(self) -> None:
        _require(bool(self.path.strip()), "sources.*.path", "is empty")
        _require(
            0 <= self.max_odd_share < 1,
            "sources.*.max_odd_share",
            f"{self.max_odd_share} is not from 0 to under 1",
        )

    @property
    def holds_tokens(self) -> bool:
        """Whether its files hold token ids, not text."""
        return self.path.startswith(TOKENS)


TEST = "test+"
"""Before the name of a test set, where it stands beside sources: in `tokens/`, and in audits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPolicy:
    """Bounds of an arm's weight: 0 ≤ floor ≤ cap."""

    floor: float = 0.0
    cap: float = 1.0

    def __post_init__(self) -> None:
        _require(
            0 <= self.floor <= self.cap and math.isfinite(self.cap),
            "policy.*",
            f"floor {self.floor} and cap {self.cap} are not 0 ≤ floor ≤ cap",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerSettings:
    """Which engine trains, and what a console does when it crashes."""

    command: tuple[str, ...] = ()
    """The command that trains; empty: andrea-trainer."""
    restart: bool = False
    """An open console starts the trainer again after a crash, with pauses; no weight depends on
    it, so it may change at any time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything in `run.toml`, with the preset's values where it is silent."""

    preset: str
    rules: int = 1
    """Number of the arithmetic and data rules; 1 where `run.toml` is older than the numbers."""
    seed: int = 1337
    model: ModelSettings
    tokenizer: TokenizerSettings = LEARNED_TOKENIZER
    data: DataSettings = DEFAULT_DATA
    train: TrainSettings
    optimizer: OptimizerSettings
    checkpoint: CheckpointSettings = CheckpointSettings()
    audit: AuditSettings = AuditSettings()
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)
    policy: Mapping[str, ArmPolicy] = field(default_factory=dict)
    test: Mapping[str, SourceSettings] = field(default_factory=dict)
    """Test sets: measured, never trained on; training text that shares 13 words in a row with one
    is left out."""
    trainer: TrainerSettings = TrainerSettings()

    def __post_init__(self) -> None:
        _require(
            self.rules <= NEWEST_RULES,
            "rules",
            f"{self.rules} is of a run made by a newer andrea; this one knows 1 to {NEWEST_RULES}:"
            " go on with the version that made it, or a later one",
        )
        _require(self.rules in RULES, "rules", f"{self.rules} is none of 1 to {NEWEST_RULES}")
        _require(
            RULES[self.rules].bounds_held_out
            or self.data.held_out_tokens == DEFAULT_DATA.held_out_tokens,
            "data.held_out_tokens",
            f"a run of rules {self.rules} holds out 1 % of each source, however large; new runs"
            f" have rules {NEWEST_RULES}",
        )
        _require(0 <= self.seed < 2**31, "seed", f"{self.seed} is not between 0 and 2³¹ - 1")
        _require(
            self.model.vocab_size > 256 or bool(self.tokenizer.path),
            "model.vocab_size",
            "must be over 256 (bytes + separator)",
        )
        ids = next((name for name, source in self.sources.items() if source.holds_tokens), None)
        _require(
            ids is None or bool(self.tokenizer.path),
            f"sources.{ids}.path",
            "token ids mean nothing without the tokenizer that made them: name its tokenizer.json"
            " as tokenizer.path (--tokenizer for a new run)",
        )
        self._check_tests()
        row_tokens = self.train.micro_batch * self.model.context
        _require(
            self.train.batch_tokens % row_tokens == 0,
            "train.batch_tokens",
            f"{self.train.batch_tokens} is not a multiple of train.micro_batch × model.context"
            f" = {row_tokens}",
        )
        _require(
            self.grad_accum_steps % self.n_shares == 0,
            "train.shares",
            f"{self.train.shares} don't divide a step's {self.grad_accum_steps} micro-batches",
        )
        self.require_ranks(max(self.train.ranks, 1))
        _require(
            self.optimizer.warmup_steps < self.train.total_steps,
            "optimizer.warmup_steps",
            f"{self.optimizer.warmup_steps} is not below train.total_steps"
            f" = {self.train.total_steps}",
        )
        for prompt in self.audit.prompts:
            n_bytes, most = len(prompt.encode()), max(self.model.context // 2 - 1, 0)
            _require(
                n_bytes <= most,
                "audit.prompts",
                f"{prompt[:20]!r}… is {n_bytes:,} bytes; at most {most:,} surely fit half of"
                f" model.context = {self.model.context:,}, which a sample begins with",
            )
        _require(bool(self.sources), "sources", "there is no source to train on")
        caps = [self.bounds_of(name).cap for name in self.sources]
        _require(max(caps) > 0, "policy", "all caps are 0: no arm could be pulled")

    def _check_tests(self) -> None:
        name = next(iter(self.test), "")
        _require(
            RULES[self.rules].keeps_apart or not self.test,
            f"test.{name}",
            f"a run of rules {self.rules} was prepared without test sets; a new run may have them",
        )
        for name, source in self.test.items():
            _require(
                name not in self.sources and f"{TEST}{name}" not in self.sources,
                f"test.{name}",
                "a source has this name, too; what is trained on can't be tested on",
            )
            is_text = not source.holds_tokens
            _require(is_text, f"test.{name}.path", "is of tokens; a test set is text")

    @property
    def tests(self) -> dict[str, SourceSettings]:
        """The test sets by the names that they have beside sources."""
        return {f"{TEST}{name}": source for name, source in self.test.items()}

    @property
    def default_bounds(self) -> ArmPolicy:
        """What a source has without a policy of its own."""
        return ArmPolicy(cap=RULES[self.rules].default_cap)

    def bounds_of(self, source: str) -> ArmPolicy:
        """Floor and cap of a source's arm."""
        return self.policy.get(source, self.default_bounds)

    @property
    def rows(self) -> int:
        """Rows of `context` tokens in a step."""
        return self.train.batch_tokens // self.model.context

    @property
    def grad_accum_steps(self) -> int:
        return self.rows // self.train.micro_batch

    @property
    def n_shares(self) -> int:
        """Parts of a step whose gradients are added up in order."""
        return self.train.shares or self.grad_accum_steps

    def require_ranks(self, size: int) -> None:
        """Raise `SettingsError` where so many ranks can't have as many shares each."""
        _require(
            self.n_shares % size == 0,
            "train.ranks",
            f"{size} ranks can't share the {self.n_shares} parts of a step evenly"
            f" ({'train.shares' if self.train.shares else 'its micro-batches'});"
            f" these can: {', '.join(map(str, _divisors(self.n_shares)))}",
        )


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]

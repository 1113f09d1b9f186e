"""A run keeps the rules that it began with, bit for bit, whatever newer rules say."""

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import torch
from torch.nn import functional as F
from torch.optim.adamw import adamw

from tests.tiny import Crashed, ask_stop, crash, make_tiny_run, strict_json, timeless, train_here
from trainer.proxy import batches
from trainer.proxy.held_out import MOST_HELD_OUT_SHARE
from trainer.proxy.tokenizer import load_tokenizer
from trainer.rundir.config.rules import NEWEST_RULES, RULES
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.records.record_file import canonical
from trainer.rundir.sources.token_arrays import TokenArray
from trainer.rundir.state import State, read_state

FIXTURES = Path(__file__).parent / "fixtures"
"""`rules_N`: a run that the last version with rules N left at step 8, and `next.json`: what it
made of the next eight."""

each_kept = pytest.mark.parametrize("kept", sorted(path.name for path in FIXTURES.glob("rules_*")))


def kept_run(kept: str, folder: Path) -> RunDirectory:
    """A copy of a kept run and of the text beside it, to be gone on with."""
    shutil.copytree(FIXTURES / kept, folder / "kept")
    return RunDirectory(folder / "kept" / "run")


def recorded(kept: str) -> dict[str, Any]:
    """What that version did next, and on what."""
    told: dict[str, Any] = orjson.loads((FIXTURES / kept / "next.json").read_bytes())
    return told


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def kernels() -> dict[str, str]:
    """What the last bits of a step depend on besides our code: torch, and how it rounds here.

    The probe is torch's own functions on fixed numbers, without a line of ours: two processors
    of one capability may still get other kernels from a library.
    """
    x = torch.sin(torch.arange(4 * 32 * 8, dtype=torch.float32)).view(4, 32, 8).requires_grad_()
    w = torch.cos(torch.arange(8 * 300, dtype=torch.float32)).view(300, 8).requires_grad_()
    attended = F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], is_causal=True)
    logits = F.linear(attended[:, 0], w)
    (logits.exp().sum(-1).log().mean() + torch.linalg.vector_norm(logits)).backward()
    assert x.grad is not None
    assert w.grad is not None
    m, v, steps = torch.zeros_like(w), torch.zeros_like(w), torch.full((), 3.0)
    with torch.no_grad():
        adamw(
            [w], [w.grad], [m], [v], [], [steps], fused=True, amsgrad=False, maximize=False,
            beta1=0.9, beta2=0.999, lr=1e-3, weight_decay=0.1, eps=1e-8,
        )  # fmt: skip
    probed = b"".join(t.detach().numpy().tobytes() for t in (logits, x.grad, w.grad, w, m, v))
    return {
        "torch": torch.__version__,
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "probe": hashlib.sha256(probed).hexdigest(),
    }


def is_same_arithmetic(told: Mapping[str, Any]) -> bool:
    """Whether the older version would get the same bits here as where it was recorded."""
    return all(told[name] == value for name, value in kernels().items())


def test_a_run_of_each_older_number_is_kept() -> None:
    kept = {path.name for path in FIXTURES.glob("rules_*")}
    assert kept == {f"rules_{number}" for number in RULES if number < NEWEST_RULES}


@each_kept
def test_kept_run_of_an_older_version_goes_on_bit_for_bit(kept: str, tmp_path: Path) -> None:
    run, told = kept_run(kept, tmp_path), recorded(kept)
    assert train_here(run, until=16) is Exit.FINISHED
    records = [record for record in strict_json(run.loss) if record["step"] > 8]
    if is_same_arithmetic(told):
        assert timeless(records) == timeless(told["losses"])
        assert sha256_of(run.path / "step_000016.bin") == told["sha256"]
        return
    for record, before in zip(records, told["losses"], strict=True):
        assert (record["step"], record["arm"]) == (before["step"], before["arm"])
        for name in ("loss", "ema", "lr", "grad_norm", "reward"):
            assert record[name] == pytest.approx(before[name], rel=1e-5)


@each_kept
def test_kept_run_that_lost_its_state_goes_on(kept: str, tmp_path: Path) -> None:
    run, told = kept_run(kept, tmp_path), recorded(kept)
    run.state.unlink()
    assert train_here(run, until=16) is Exit.FINISHED
    (record,) = [record for record in strict_json(run.loss) if record["step"] == 16]
    assert record["loss"] == pytest.approx(told["losses"][-1]["loss"], rel=1e-5)


@each_kept
def test_kept_run_is_audited_on_the_rows_that_were_held_out_before(
    kept: str, tmp_path: Path
) -> None:
    run, told = kept_run(kept, tmp_path), recorded(kept)["audit"]
    train_here(run, until=16)
    (record,) = [record for record in strict_json(run.samples) if record["step"] == 16]
    assert record["val_rows"].keys() == told["val_rows"].keys()
    assert record["val_loss"] == pytest.approx(told["val_loss"], rel=1e-5)


@each_kept
@pytest.mark.parametrize("lost", ["tokens", "tokens and tokenizer"])
def test_kept_run_makes_lost_tokens_and_tokenizer_again_byte_for_byte(
    tmp_path: Path, kept: str, lost: str
) -> None:
    run, told = kept_run(kept, tmp_path), recorded(kept)
    shutil.rmtree(run.tokens)
    if lost == "tokens and tokenizer":
        run.tokenizer.unlink()
    train_here(run, until=16)
    assert sha256_of(run.tokenizer) == told["tokenizer"]
    for name, sha256 in told["tokens"].items():
        assert sha256_of(run.tokens / name) == sha256


def tokens_of(run: RunDirectory, source: str) -> tuple[TokenArray, TokenArray]:
    """What is trained on and what is held out of a source, from the run's own files."""
    (train,) = (run.tokens / source).glob("*.train.bin")
    (held_out,) = (run.tokens / source).glob("*.held_out.bin")
    return np.fromfile(train, "<u2"), np.fromfile(held_out, "<u2")


def text_of(run: RunDirectory, tokens: TokenArray) -> str:
    return load_tokenizer(run.tokenizer, vocab_size=300).decode(tokens.tolist())


def numbered_lines(first: int, last: int) -> str:
    """Lines that are all different, so that each can be found again."""
    return "".join(
        f"line {n} of a text with {n * 7919 % 10_007} words\n" for n in range(first, last)
    )


def test_run_of_the_newest_rules_that_was_interrupted_ends_in_the_same_bytes(
    tmp_path: Path,
) -> None:
    straight = make_tiny_run(tmp_path / "a" / "run", rules=NEWEST_RULES)
    broken = make_tiny_run(tmp_path / "b" / "run", rules=NEWEST_RULES)
    train_here(straight)
    with pytest.raises(Crashed):
        train_here(broken, {5: crash})
    train_here(broken, {3: ask_stop})
    shutil.rmtree(broken.tokens)
    assert train_here(broken) is Exit.FINISHED
    assert sha256_of(broken.path / "step_000016.bin") == sha256_of(
        straight.path / "step_000016.bin"
    )
    assert timeless(list(canonical(strict_json(broken.loss)).values())) == timeless(
        strict_json(straight.loss)
    )


def test_text_held_out_of_one_source_is_trained_on_in_none(tmp_path: Path) -> None:
    """A large text file, a source that repeats a part of it, and two that share a document."""
    text = {
        "book": numbered_lines(0, 4000),
        "excerpt": numbered_lines(1000, 1800),
        "one": numbered_lines(5000, 5100) + "\n",
        "two": numbered_lines(6000, 6400),
    }
    run = make_tiny_run(tmp_path / "run", rules=NEWEST_RULES, sources=dict.fromkeys(text, 1))
    for name, of_source in text.items():
        documents = (
            [of_source, numbered_lines(8000, 8600)] if name in ("one", "two") else [of_source]
        )
        lines = b"".join(orjson.dumps({"text": document}) + b"\n" for document in documents)
        (tmp_path / f"run-{name}.jsonl").write_bytes(lines)
    train_here(run, until=8)
    sides = {
        name: [set(text_of(run, t).splitlines()) for t in tokens_of(run, name)] for name in text
    }
    trained_on = set().union(*(train for train, _ in sides.values()))
    held_out = set().union(*(held for _, held in sides.values()))
    assert len(held_out) > 20
    assert not trained_on & held_out
    for name in text:
        train, held = tokens_of(run, name)
        assert len(held) <= MOST_HELD_OUT_SHARE * (len(train) + len(held)) + 1


@pytest.mark.parametrize(("rules", "is_other"), [(3, False), (4, True)])
def test_many_rows_are_ordered_by_number_from_rules_4_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: int, is_other: bool
) -> None:
    few = make_tiny_run(tmp_path / "few" / "run", rules=rules)
    many = make_tiny_run(tmp_path / "many" / "run", rules=rules)
    train_here(few, until=2)
    monkeypatch.setattr(batches, "_MANY_ROWS", 2)
    train_here(many, until=2)
    same = timeless(strict_json(few.loss)) == timeless(strict_json(many.loss))
    assert same is not is_other


def test_source_that_a_pivot_adds_moves_no_text_of_the_others(tmp_path: Path) -> None:
    few = make_tiny_run(tmp_path / "a" / "run", rules=NEWEST_RULES, sources={"large": 300})
    more = make_tiny_run(tmp_path / "b" / "run", rules=NEWEST_RULES)
    train_here(few, until=8)
    shutil.copy(few.tokenizer, more.tokenizer)
    train_here(more, until=8)
    for before, after in zip(tokens_of(few, "large"), tokens_of(more, "large"), strict=True):
        assert before.tolist() == after.tolist()


@pytest.mark.parametrize("rules", RULES)
def test_source_with_too_little_text_to_hold_a_row_out_is_told(tmp_path: Path, rules: int) -> None:
    run = make_tiny_run(tmp_path / "run", rules=rules, sources={"large": 300, "seq": 1})
    seq = "".join(f"{number}\n" for number in range(1, 101))
    (tmp_path / "run-seq.jsonl").write_bytes(orjson.dumps({"text": seq}))
    train_here(run, until=8)
    notes = (read_state(run.state) or State()).notes
    (note,) = [note for note in notes if "no val_loss" in note]
    assert note.startswith("source seq: 0 tokens of its text are held out")
    (record,) = strict_json(run.samples)
    assert list(record["val_losses"]) == ["large"]

"""A run keeps the rules that it began with, bit for bit, whatever newer rules say."""

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import torch
from torch.nn import functional as F
from torch.optim.adamw import adamw

from tests.tiny import strict_json, timeless, train_here
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit

KEPT = Path(__file__).parent / "fixtures" / "rules_1"
"""A run that the first version left at step 8, and `next.json`: what it made of the next eight."""


def kept_run(folder: Path) -> RunDirectory:
    """A copy of the kept run and of the text beside it, to be gone on with."""
    shutil.copytree(KEPT, folder / "kept")
    return RunDirectory(folder / "kept" / "run")


def recorded() -> dict[str, Any]:
    """What the first version did next, and on what."""
    told: dict[str, Any] = orjson.loads((KEPT / "next.json").read_bytes())
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
    """Whether the first version would get the same bits here as where it was recorded."""
    return all(told[name] == value for name, value in kernels().items())


def test_kept_run_of_the_first_version_goes_on_bit_for_bit(tmp_path: Path) -> None:
    run, told = kept_run(tmp_path), recorded()
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


def test_kept_run_is_audited_on_the_rows_that_were_held_out_before(tmp_path: Path) -> None:
    run, told = kept_run(tmp_path), recorded()["audit"]
    train_here(run, until=16)
    (record,) = [record for record in strict_json(run.samples) if record["step"] == 16]
    assert record["val_rows"].keys() == told["val_rows"].keys()
    assert record["val_loss"] == pytest.approx(told["val_loss"], rel=1e-5)


@pytest.mark.parametrize("lost", ["tokens", "tokens and tokenizer"])
def test_kept_run_makes_lost_tokens_and_tokenizer_again_byte_for_byte(
    tmp_path: Path, lost: str
) -> None:
    run, told = kept_run(tmp_path), recorded()
    shutil.rmtree(run.tokens)
    if lost == "tokens and tokenizer":
        run.tokenizer.unlink()
    train_here(run, until=16)
    assert sha256_of(run.tokenizer) == told["tokenizer"]
    for name, sha256 in told["tokens"].items():
        assert sha256_of(run.tokens / name) == sha256

"""The check for a GPU machine, run dry so that it can't rot."""

from pathlib import Path

import orjson
import pytest
import torch

from tests.benchmarks.engines import preset_settings
from tests.gpu.check import flops_per_token, main


def test_dry_run_finds_equal_bits_and_writes_all_its_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    was_exact = torch.are_deterministic_algorithms_enabled()
    try:
        assert main(["--dry", "--json", str(tmp_path / "findings.json")]) == 0
    finally:
        torch.use_deterministic_algorithms(was_exact)
    findings = orjson.loads((tmp_path / "findings.json").read_bytes())
    assert list(findings["is_exact"].values()) == [True, True]
    assert len(findings["speed"]) == 4
    assert findings["save_seconds"]["step"] > 0
    assert not findings["left_out"]
    assert "resumed after two of three | equal" in capsys.readouterr().out


def test_what_the_deadline_leaves_no_time_for_is_named(tmp_path: Path) -> None:
    assert main(["--dry", "--seconds", "0", "--json", str(tmp_path / "findings.json")]) == 1
    findings = orjson.loads((tmp_path / "findings.json").read_bytes())
    assert len(findings["left_out"]) == 6
    assert not findings["speed"]


def test_operations_a_token_are_those_of_the_matrices_and_of_attention() -> None:
    settings = preset_settings("andrea-120m", rows=1)
    matrices = 12 * 12 * 768 * 768 + 22_400 * 768
    assert flops_per_token(settings) == 6 * matrices + 12 * 12 * 768 * 1024

"""An arm's next rows are asked of the disk while the step before is computed."""

from pathlib import Path

import numpy as np
import pytest

from tests.tiny import ask_stop, make_tiny_run, train_here
from trainer.proxy import feed
from trainer.proxy.batches import take_rows
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.sources.token_arrays import TokenArray, fetch_ahead


@pytest.mark.parametrize("rules", [2, 4])
def test_the_rows_fetched_ahead_are_those_that_each_step_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: int
) -> None:
    run = make_tiny_run(tmp_path / "run", total_steps=24, rules=rules)
    context = load_settings(run.settings).model.context
    ahead: set[bytes] = set()
    taken: list[bytes] = []
    pull = feed.Feed.pull

    def fetch(tokens: TokenArray, rows: np.ndarray, *, context: int) -> None:
        ahead.add(take_rows(tokens, rows, context=context).tobytes())

    def pulled(self: feed.Feed, step: int) -> feed.Pull:
        given = pull(self, step)
        assert given.rows.shape[1] == context + 1
        assert given.rows.tobytes() in ahead
        taken.append(given.rows.tobytes())
        return given

    monkeypatch.setattr(feed, "fetch_ahead", fetch)
    monkeypatch.setattr(feed.Feed, "pull", pulled)
    train_here(run, {9: ask_stop})
    ahead.clear()  # of a process that is gone
    train_here(run)
    assert len(taken) == 24


def test_asking_changes_no_token_wherever_they_are(tmp_path: Path) -> None:
    path = tmp_path / "tokens.bin"
    np.arange(4097, dtype="<u2").tofile(path)
    mapped = np.memmap(path, "<u2", mode="r")
    rows = np.array([0, 255, 3])
    for tokens in (mapped, mapped.copy(), np.empty(0, "<u2")):
        fetch_ahead(tokens, rows, context=16)
    assert np.array_equal(take_rows(mapped, rows, context=16)[1], np.arange(4080, 4097))

"""What hundreds of saves leave behind: the files, and nothing else (cases C3, C10)."""

import gc
import tracemalloc
from pathlib import Path

import torch

from trainer.engine.parameters import FlatParameters
from trainer.persistence.background_save import Saver
from trainer.rundir.checkpoints.checkpoint import list_checkpoints
from trainer.rundir.checkpoints.retention import plan_thinning
from trainer.rundir.checkpoints.thinning import thin
from trainer.rundir.config.settings import CheckpointSettings
from trainer.rundir.layout import RunDirectory

KEEP = CheckpointSettings(keep_last=3, keep_every=250)


def save(saver: Saver, step: int) -> None:
    saver.begin(step)
    saver.before_update()
    saver.collect()


def open_files(directory: Path) -> list[str]:
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [name for name in links if name.startswith(str(directory))]


def test_thousand_saves_and_thinnings_hold_no_file_open_and_no_more_disk(tmp_path: Path) -> None:
    parameters = FlatParameters(torch.nn.Linear(8, 8), torch.device("cpu"))
    saver = Saver(tmp_path, parameters, lambda: None)
    for step in range(1, 1001):
        save(saver, step)
        found = list_checkpoints(tmp_path, parameters.n_params).checkpoints
        thin(RunDirectory(tmp_path), plan_thinning(found, KEEP, {}))
        assert len(found) <= 3 + 4 + 1
    saver.close()
    left = [found.step for found in list_checkpoints(tmp_path, parameters.n_params).checkpoints]
    assert left == [250, 500, 750, 998, 999, 1000]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"step_{n:06d}.bin" for n in left]
    assert open_files(tmp_path) == []


def test_five_hundred_saves_keep_no_memory(tmp_path: Path) -> None:
    parameters = FlatParameters(torch.nn.Linear(64, 64), torch.device("cpu"))
    saver = Saver(tmp_path, parameters, lambda: None)
    save(saver, 1)
    tracemalloc.start()
    try:
        for step in range(2, 52):
            save(saver, step)
        gc.collect()
        after_fifty, _ = tracemalloc.get_traced_memory()
        for step in range(52, 502):
            save(saver, step)
        gc.collect()
        after_five_hundred, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        saver.close()
    # less than the state of one save (50 KB) in 450 of them
    assert after_five_hundred - after_fifty < 12 * parameters.n_params

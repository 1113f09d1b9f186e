"""Kill any rank, or all, at drawn moments: the next start goes on, and the bytes stay the same.

`python -m tests.crash.rank_kills 100` kills a hundred times; a test kills a few.
"""

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.forked_ranks import Forked, Zygote, make_ranks_run, set_in, zygote
from tests.tiny import strict_json, timeless
from tests.waiting import wait_for
from trainer.rundir.layout import RunDirectory

SIZES = (2, 4, 1)
MOST_SECONDS = 1.5
"""Of a start: it joins in 0.3 s, and trains the whole run in a second."""


def kill_at_random(ranks: Zygote, directory: Path, kills: int, seed: int) -> Counter[str]:
    """Kill so many times; what was hit. Raises `AssertionError` where a byte differs."""
    chance = random.Random(seed)
    straight = make_ranks_run(directory / "straight", total_steps=24, every=4)
    assert ranks.train(straight) == 0
    wanted = _bytes_of(straight)
    hit: Counter[str] = Counter()
    n_run = 0
    while hit.total() < kills:
        n_run += 1
        run = make_ranks_run(directory / f"run{n_run}", total_steps=24, every=4)
        while hit.total() < kills and _kill_once(ranks, run, chance, hit):
            pass
        set_in(run, ranks=chance.choice(SIZES))
        assert ranks.train(run) == 0, run.log.read_text()
        assert _bytes_of(run) == wanted
        assert not list(run.path.glob("*.partial"))
    return hit


def _kill_once(ranks: Zygote, run: RunDirectory, chance: random.Random, hit: Counter[str]) -> bool:
    """One start and its end by a kill; whether there was something to kill."""
    set_in(run, ranks=chance.choice(SIZES))
    process = ranks.start(run)
    time.sleep(chance.uniform(0.0, MOST_SECONDS))  # a drawn moment, whatever it hits
    pids = processes_of(process)
    victims = pids if chance.random() < 0.2 else pids and [chance.choice(pids)]
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    code = process.wait()
    wait_for(lambda: not processes_of(process), "the end of all ranks")
    if code == 0:
        return False
    what = "all" if len(victims) > 1 else f"rank {pids.index(victims[0])} of {len(pids)}"
    hit[what] += 1
    return True


def processes_of(process: Forked) -> list[int]:
    """Pids of all ranks that live, in the order of their starts: they are in one session."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == process.pid and fields[0] != "Z":
                found.append(int(folder.name))
    return sorted(found)


def _bytes_of(run: RunDirectory) -> tuple[object, ...]:
    files = {path.name: path.read_bytes() for path in run.path.glob("step_*.bin")}
    audits = [(each["step"], each["text"], each["val_loss"]) for each in strict_json(run.samples)]
    return files, timeless(strict_json(run.loss)), audits


if __name__ == "__main__":
    with zygote() as opened, tempfile.TemporaryDirectory() as folder:
        print(kill_at_random(opened, Path(folder), int(sys.argv[1]), seed=int(sys.argv[2])))

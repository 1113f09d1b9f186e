"""The job script of docs/scale.md, with stand-ins for Slurm's commands."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiny import ROOT
from tests.waiting import wait_for

SCONTROL = """#!/bin/sh
case "$1" in
    show) echo gpu-1; echo gpu-2 ;;
    requeue) echo "$2" >> "$HERE/requeued" ;;
esac
"""
SRUN = """#!/bin/sh
echo "$MASTER_ADDR $MASTER_PORT $*" > "$HERE/started.new"
trap 'echo TERM >> "$HERE/heard"; exit 143' TERM
mv "$HERE/started.new" "$HERE/started"
[ -n "$ENDS_WITH" ] && exit "$ENDS_WITH"
while :; do sleep 0.01; done
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The script as the page has it, with srun and scontrol beside it."""
    page = (ROOT / "docs" / "scale.md").read_text()
    found = re.search(r"<!-- job script -->\n```sh\n(.*?)```", page, re.DOTALL)
    assert found
    for name, text in (("job.sh", found[1]), ("scontrol", SCONTROL), ("srun", SRUN)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path / "job.sh"


@pytest.fixture
def jobs() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for job in started:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def submit(
    script: Path, jobs: list[subprocess.Popen[bytes]], *, ends_with: str = ""
) -> subprocess.Popen[bytes]:
    here = str(script.parent)
    environment = {
        "PATH": f"{here}:{os.environ['PATH']}",
        "HERE": here,
        "ENDS_WITH": ends_with,
        "SLURM_JOB_ID": "40123",
        "SLURM_JOB_NODELIST": "gpu-[1-2]",
    }
    job = subprocess.Popen(["bash", str(script), "my run"], env=environment, start_new_session=True)
    jobs.append(job)
    return job


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_a_job_that_is_told_of_its_end_stops_the_trainer_and_goes_back_in_the_queue(
    number: int, script: Path, jobs: list[subprocess.Popen[bytes]]
) -> None:
    job = submit(script, jobs)
    wait_for((script.parent / "started").exists, "srun")
    job.send_signal(number)
    assert job.wait(60) >= 128
    assert (script.parent / "heard").read_text() == "TERM\n"
    assert (script.parent / "requeued").read_text() == "40123\n"


@pytest.mark.parametrize("code", [0, 1, 2, 3, 10])
def test_a_job_that_ends_by_itself_stays_out_of_the_queue(
    code: int, script: Path, jobs: list[subprocess.Popen[bytes]]
) -> None:
    assert submit(script, jobs, ends_with=str(code)).wait(60) == code
    assert not (script.parent / "requeued").exists()


def test_all_tasks_are_told_where_rank_0_is(
    script: Path, jobs: list[subprocess.Popen[bytes]]
) -> None:
    submit(script, jobs, ends_with="0").wait(60)
    started = (script.parent / "started").read_text()
    assert started == "gpu-1 20123 --kill-on-bad-exit=1 python -m trainer my run\n"

"""Real ranks in milliseconds: forked, with torch loaded already, by a process of its own.

`python -m tests.forked_ranks` is that process: a request a line on stdin, its answer on stdout. All
is as it is in earnest but for the exec: rank 0 starts the others itself, they meet by sockets.
"""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import orjson

from tests.tiny import ROOT, make_tiny_run
from trainer.rundir.layout import RunDirectory


class Zygote:
    """The process, from the test's side."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked_ranks"],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def train(self, run: RunDirectory, *arguments: str, patch: str = "") -> int:
        """Train to an end; its exit code."""
        return self.start(run, *arguments, patch=patch).wait()

    def start(
        self,
        run: RunDirectory,
        *arguments: str,
        patch: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> "Forked":
        """Begin to train; `patch` names a function here that each rank calls first."""
        request = {
            "words": [str(run.path), *arguments],
            "log": str(run.log),
            "patch": patch,
            "environment": environment or {},
        }
        return Forked(self, int(self._ask(request)))

    def exit_code(self, pid: int) -> int | None:
        """None while it lives."""
        code = self._ask({"poll": pid})
        return None if code is None else int(code)

    def close(self) -> None:
        self._process.communicate(timeout=60)

    def _ask(self, request: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(orjson.dumps(request) + b"\n")
        self._process.stdin.flush()
        return orjson.loads(self._process.stdout.readline())


class Forked:
    """A rank that the zygote has forked."""

    def __init__(self, zygote: Zygote, pid: int) -> None:
        self._zygote = zygote
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None:
            self._code = self._zygote.exit_code(self.pid)
        return self._code

    def wait(self, seconds: float = 100.0) -> int:
        deadline = time.monotonic() + seconds
        while (code := self.poll()) is None:
            assert time.monotonic() < deadline, "it never ends"
            time.sleep(0.005)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


@contextlib.contextmanager
def zygote() -> Iterator[Zygote]:
    opened = Zygote()
    try:
        yield opened
    finally:
        opened.close()


def make_ranks_run(
    path: Path, *, ranks: int = 1, width: int = 64, rules: int = 4, **options: Any
) -> RunDirectory:
    """A tiny run of eight micro-batches a step, whose weights are eight slices and a rest."""
    run = make_tiny_run(path, rules=rules, **options)
    set_in(run, width=width, batch_tokens=128, micro_batch=1, ranks=ranks, rank_timeout_seconds=60)
    return run


def set_in(run: RunDirectory, **values: object) -> None:
    """Give settings other values; those that are not there come under [train]."""
    lines = [
        line for line in run.settings.read_text().splitlines() if line.split(" = ")[0] not in values
    ]
    for name, value in values.items():
        section = "[model]" if name == "width" else "[train]"
        lines.insert(lines.index(section) + 1, f"{name} = {value}")
    run.settings.write_text("\n".join(lines) + "\n")


class _ForkedPopen:
    """As much of `Popen` as rank 0 asks for, for the ranks that it starts."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], **_: Any) -> None:
        self.pid = os.fork()
        if not self.pid:
            os.closerange(3, 1000)
            _live(command[4:], env, "")
        self._code: int | None = None

    def wait(self, seconds: float | None = None) -> int:
        deadline = time.monotonic() + (seconds if seconds is not None else 60.0)
        while self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired("rank", seconds or 0.0)
            else:
                time.sleep(0.002)
        return self._code

    def kill(self) -> None:
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)


def _live(words: Sequence[str], environment: Mapping[str, str], patch: str) -> NoReturn:
    from trainer.cli import main  # noqa: PLC0415

    os.environ.clear()
    os.environ.update(environment)
    code = 1
    try:
        if patch:
            _PATCHES[patch]()
        code = main(list(words))
    except BaseException:  # noqa: BLE001 - the edge of a forked process
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def sum_by_all_reduce() -> None:
    """The control: what everybody does, an order of additions that the library chooses."""
    import torch.distributed as dist  # noqa: PLC0415

    from trainer.engine.ranks import Ranks  # noqa: PLC0415

    def exchange(ranks: Ranks, gradients: Any, _: Any) -> Any:
        dist.all_reduce(gradients)
        return [gradients[ranks.slices[ranks.rank]]]

    Ranks.exchange = exchange  # type: ignore[method-assign, assignment]


def spoil_the_third_step_of_rank_1() -> None:
    """A gradient that is no number, on one rank."""
    from trainer.engine.engine import Engine  # noqa: PLC0415

    real = Engine._accumulate

    def spoilt(engine: Engine, *arguments: Any) -> Any:
        losses = real(engine, *arguments)
        if engine.ranks.rank == 1 and engine.step == 2:
            engine.parameters.gradients[0] = float("nan")
        return losses

    Engine._accumulate = spoilt  # type: ignore[method-assign, assignment]


def train_in_fp16() -> None:
    """With a first scale that overflows, so that each step tries some."""
    from trainer.engine import engine  # noqa: PLC0415

    real = engine.place  # type: ignore[attr-defined]

    def place(*arguments: Any) -> Any:
        return dataclasses.replace(real(*arguments), precision="fp16")

    engine.place = place  # type: ignore[attr-defined, assignment]
    engine.FIRST_LOSS_SCALE = 2.0**24


def never_join() -> None:
    """Ranks that load torch for ever."""
    import trainer.together  # noqa: PLC0415

    def hang(_: object) -> NoReturn:
        while True:
            time.sleep(1)

    trainer.together.follow = hang  # type: ignore[assignment]


def die_while_joining() -> None:
    import trainer.together  # noqa: PLC0415

    trainer.together.follow = lambda _: os._exit(7)  # type: ignore[assignment]


def wait_a_moment_for_ranks() -> None:
    from trainer.crew import leader  # noqa: PLC0415

    leader.JOIN_SECONDS = 0.2


def be_of_another_torch() -> None:
    from trainer.crew.follower import Follower  # noqa: PLC0415

    real = Follower.greet

    def greet(follower: Follower, hello: Any) -> Any:
        return real(follower, {**hello, "torch": "0.1"})

    Follower.greet = greet  # type: ignore[method-assign, assignment]


def fail_before_the_fourth_step() -> None:
    """An error of rank 0's own, while the others wait for the next order."""
    from trainer.proxy.feed import Feed  # noqa: PLC0415

    real = Feed.pull

    def pull(feed: Feed, step: int) -> Any:
        if step == 4:
            raise RuntimeError("no text today")
        return real(feed, step)

    Feed.pull = pull  # type: ignore[method-assign, assignment]


def fail_in_the_third_step_of_rank_1() -> None:
    from trainer.engine.engine import Engine  # noqa: PLC0415

    real = Engine._accumulate

    def failing(engine: Engine, *arguments: Any) -> Any:
        if engine.ranks.rank == 1 and engine.step == 2:
            raise RuntimeError("CUDA is out of luck")
        return real(engine, *arguments)

    Engine._accumulate = failing  # type: ignore[method-assign, assignment]


_PATCHES: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        sum_by_all_reduce,
        spoil_the_third_step_of_rank_1,
        train_in_fp16,
        never_join,
        die_while_joining,
        wait_a_moment_for_ranks,
        be_of_another_torch,
        fail_before_the_fourth_step,
        fail_in_the_third_step_of_rank_1,
    )
}


def _serve() -> None:
    import torch.distributed  # noqa: PLC0415, F401

    import trainer.session  # noqa: PLC0415
    import trainer.together  # noqa: PLC0415, F401

    subprocess.Popen = _ForkedPopen  # type: ignore[misc, assignment]
    codes: dict[int, int] = {}
    for line in sys.stdin.buffer:
        request = orjson.loads(line)
        answer = _answer(request, codes)
        sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
        sys.stdout.buffer.flush()


def _answer(request: Mapping[str, Any], codes: dict[int, int]) -> int | None:
    if "poll" in request:
        pid = request["poll"]
        if pid not in codes:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                codes[pid] = os.waitstatus_to_exitcode(status)
        return codes.get(pid)
    child = os.fork()
    if child:
        return child
    os.setsid()
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for fd, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(fd, target)
    os.closerange(3, 1000)
    _live(request["words"], {**os.environ, **request["environment"]}, request["patch"])


if __name__ == "__main__":
    _serve()

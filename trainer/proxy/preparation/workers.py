"""Units over processes: each is encoded by one of them, and they come back in order."""

import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from trainer.proxy.preparation.encoding import Encoded, Encoder
from trainer.proxy.preparation.units import Unit
from trainer.rundir.outcomes import SourceError
from trainer.signals import leave_interrupts_to_parent

_AHEAD = 3
"""Units a worker that may be done before one that is slow: what they are waits in memory."""

_CHECK_SECONDS = 0.1


def available_cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0))


def encode_units(
    encoder: Encoder, units: Iterator[Unit], n_workers: int, check: Callable[[], None]
) -> Iterator[tuple[Unit, Encoded]]:
    """Each unit with its tokens, in order; `check` is called all the time and may raise.

    Raises:
        SourceError: a unit can't be read, or the process that had it was killed.
    """
    if n_workers < 2:
        for unit in units:
            yield unit, encoder.encode(unit, check)
        return
    with _started(encoder, n_workers) as workers:
        yield from _in_order(workers, enumerate(units), check)


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    connection: Connection
    number: int | None = None
    """Of the unit that it has."""


@contextmanager
def _started(encoder: Encoder, n_workers: int) -> Iterator[list[_Worker]]:
    context = multiprocessing.get_context("spawn")
    workers = []
    with _in_memory(encoder) as path:
        try:
            for _ in range(n_workers):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs, path), daemon=True)
                process.start()
                theirs.close()
                workers.append(_Worker(process, ours))
            yield workers
        finally:
            for worker in workers:
                worker.connection.close()
                worker.process.kill()
            for worker in workers:
                worker.process.join()


@contextmanager
def _in_memory(encoder: Encoder) -> Iterator[str]:
    """A path at which the encoder is read.

    Among a process's arguments its megabytes would be more than a pipe holds: one that is killed
    while it starts would be waited for for ever, and a stop not heard.
    """
    with open(os.memfd_create("encoder"), "wb") as file:  # noqa: PTH123  # a descriptor
        pickle.dump(encoder, file)
        file.flush()
        yield f"/proc/{os.getpid()}/fd/{file.fileno()}"


def _in_order(
    workers: list[_Worker], units: Iterator[tuple[int, Unit]], check: Callable[[], None]
) -> Iterator[tuple[Unit, Encoded]]:
    given: dict[int, Unit] = {}
    done: dict[int, Encoded] = {}
    is_over = False
    for wanted in count():
        while wanted not in done:
            check()
            for worker in workers:
                is_far = len(given) >= _AHEAD * len(workers)
                if worker.number is None and not is_over and not is_far:
                    number, unit = next(units, (None, None))
                    is_over = unit is None
                    if number is not None and unit is not None:
                        given[number] = unit
                        worker.number = number
                        _send(worker, unit)
            if is_over and not given:
                return
            done.update(_received(workers))
        yield given.pop(wanted), done.pop(wanted)


def _send(worker: _Worker, unit: Unit) -> None:
    try:
        worker.connection.send(unit)
    except OSError as error:
        raise _killed(worker) from error


def _received(workers: list[_Worker]) -> dict[int, Encoded]:
    busy = {worker.connection: worker for worker in workers if worker.number is not None}
    found = {}
    for connection in wait(list(busy), _CHECK_SECONDS):
        worker = busy[connection]  # type: ignore[index]  # only these are waited for
        try:
            answer = worker.connection.recv()
        except (EOFError, OSError) as error:
            raise _killed(worker) from error
        if isinstance(answer, SourceError):
            raise answer
        assert worker.number is not None
        found[worker.number] = answer
        worker.number = None
    return found


def _killed(worker: _Worker) -> SourceError:
    worker.process.join(1)
    return SourceError(
        f"a process that encodes text ended with {worker.process.exitcode} (by the kernel, where"
        " memory is short); what was prepared stays: start again"
    )


def _serve(connection: Connection, path: str) -> None:
    """Encode what comes until nobody is there that could send."""
    leave_interrupts_to_parent()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core each
    with Path(path).open("rb") as file:
        encoder: Encoder = pickle.load(file)
    while True:
        try:
            unit = connection.recv()
        except (EOFError, OSError):
            return
        try:
            answer: Encoded | SourceError = encoder.encode(unit)
        except SourceError as error:
            answer = error
        try:
            connection.send(answer)
        except OSError:
            return

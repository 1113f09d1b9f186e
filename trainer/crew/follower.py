"""Every other rank's side: it does what rank 0 orders, and ends when rank 0 does."""

import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue

from trainer.crew.leader import JOIN_SECONDS
from trainer.crew.where import Where
from trainer.crew.wire import Told, Wire, ticks_of
from trainer.persistence.output import print_line
from trainer.rundir.outcomes import Exit, RankError

_RETRY_SECONDS = 0.2


def reach(where: Where, address: Callable[[], tuple[str, int]]) -> Wire:
    """A connection to rank 0, which may start later than this process. Raises `RankError`."""
    deadline = time.monotonic() + JOIN_SECONDS
    while True:
        try:
            return Wire(socket.create_connection(address(), timeout=None))
        except OSError as error:
            if where.is_child or time.monotonic() > deadline:
                raise RankError(
                    f"rank {where.rank}: no rank 0 at {where.host}:{where.port}: {error}"
                ) from error
        time.sleep(_RETRY_SECONDS)


class Follower:
    """The crew, as another rank than 0 has it."""

    def __init__(self, wire: Wire, where: Where) -> None:
        self._wire = wire
        self._where = where
        self._orders: SimpleQueue[str] = SimpleQueue()
        self._is_over = False
        self.view: Callable[[], Told] = dict
        """What rank 0 is told of this one with each sign of life."""

    def greet(self, hello: Told) -> Told:
        """Say who this is; what there is to train. Blocks until all are there: `RankError`."""
        self._wire.send(hello)
        try:
            while True:
                for told in self._wire.receive():
                    if told:
                        return told
        except (OSError, EOFError) as error:
            raise RankError(f"rank {self._where.rank}: rank 0 has ended") from error

    def stay_in_touch(self, seconds: float) -> None:
        """Give signs of life from here on, and end the process where rank 0 gives none."""
        arguments = ticks_of(seconds)
        threading.Thread(target=self._listen, args=arguments, name="rank", daemon=True).start()

    def orders(self) -> Iterator[str]:
        """What rank 0 wants, until it wants nothing more."""
        while (order := self._orders.get()) != "end":
            yield order

    def say(self, told: Told) -> None:
        """To rank 0, if it still listens."""
        try:
            self._wire.send(told)
        except OSError:
            return

    def tell(self, order: str) -> None:
        """Only rank 0 tells."""
        raise AssertionError(order)

    def blame(self, error: Exception) -> RankError:
        return RankError(f"rank {self._where.rank}: a copy between the ranks failed: {error}")

    def states(self, step: int, waited_ms: float) -> tuple[()]:
        return ()

    def close(self) -> None:
        self._wire.close()

    def _listen(self, tick: float, most_silent: int) -> None:
        """The thread that hears rank 0, whatever this one is computing."""
        n_silent, due = 0, time.monotonic() + tick
        while not self._is_over:
            if select.select([self._wire], [], [], max(0.0, due - time.monotonic()))[0]:
                n_silent = 0
                self._hear()
            if time.monotonic() >= due:
                due = time.monotonic() + tick
                n_silent += 1
                self.say(self.view())
            if n_silent > most_silent:
                self._end(f"nothing heard of rank 0 for {tick * most_silent:g} s")

    def _hear(self) -> None:
        try:
            for told in self._wire.receive():
                if order := told.get("order"):
                    self._orders.put(str(order))
                    self._is_over = order == "end"
        except (OSError, EOFError):
            self._end("rank 0 has ended")

    def _end(self, why: str) -> None:
        print_line(f"andrea-trainer: rank {self._where.rank} ends: {why}", to=sys.stderr)
        os._exit(Exit.ERROR)

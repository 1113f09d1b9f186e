"""Rank 0's side: start the other ranks or wait for them, tell them what to do, miss them."""

import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trainer.crew.starting import Child
from trainer.crew.wire import Told, Wire, ticks_of
from trainer.rundir.names import shown
from trainer.rundir.outcomes import RankError, SettingsError
from trainer.rundir.state import RankState

JOIN_SECONDS = 600.0
"""From rank 0's start: torch takes a minute to load where a hundred ranks read it at once."""

_POLL_SECONDS = 0.05
_HELLO_SECONDS = 5.0
_BLAME_SECONDS = 2.0
"""A copy fails a moment before it is known who is gone."""
_GRACE_SECONDS = 2.0
"""Then a training is ended that hangs in a copy of the device's own, or while it connects."""
_LEAVE_SECONDS = 10.0
"""For ranks that are sent home: a device takes its time."""


@dataclass(slots=True)
class _Member:
    """A rank that has joined."""

    wire: Wire
    state: RankState
    child: Child | None = None
    heard_at: float = field(default_factory=time.time)
    n_silent: int = 0
    is_waiting: bool = True
    error: str = ""


class Leader:
    """The crew, as rank 0 has it."""

    def __init__(
        self, size: int, *, seconds: float, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        """Listen; nobody is there yet. `seconds`: a rank that is silent for so long is lost."""
        self.size = size
        self.me = RankState(host=socket.gethostname(), pid=os.getpid())
        self.is_needed: Callable[[], bool] = lambda: True
        """Whether the training waits for others now, and can't see by itself that one is lost."""
        self.give_up: Callable[[RankError], None] = lambda error: None
        """Ends the process; called where a training that waits in vain doesn't end by itself."""
        self._seconds = seconds
        self._tick, self._most_silent = ticks_of(seconds)
        self._listening = socket.create_server((host, port), backlog=size)
        self._members: dict[int, _Member] = {}
        self._children: dict[int, Child] = {}
        self._lost: RankError | None = None
        self._is_watching = False
        self._is_over = threading.Event()
        self._is_noticed = threading.Event()

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def begin_with(self, children: Mapping[int, Child]) -> None:
        """Ranks that this process has started: their ends are seen, and they end with it."""
        self._children = dict(children)

    def gather(self, torch_version: str, check: Callable[[], None]) -> None:
        """Wait for all; `check` may raise to give up. Raises `RankError` or `SettingsError`."""
        deadline = time.monotonic() + JOIN_SECONDS
        self._listening.settimeout(_POLL_SECONDS)
        while len(self._members) < self.size - 1:
            check()
            self._require_children()
            if time.monotonic() > deadline:
                missing = sorted(set(range(1, self.size)) - set(self._members))
                raise SettingsError(
                    f"train.ranks: of {self.size} ranks {_numbers(missing)} did not join within"
                    f" {JOIN_SECONDS:g} s; nothing was trained"
                )
            try:
                connection, _ = self._listening.accept()
            except TimeoutError:
                continue
            self._take_in(connection, torch_version)

    def welcome(self, told: Mapping[str, Any]) -> None:
        """Tell everybody what to train; from here on they are watched."""
        for member in self._members.values():
            member.wire.send(told)
        self._is_watching = True
        threading.Thread(target=self._watch, name="ranks", daemon=True).start()

    def tell(self, order: str) -> None:
        """What all do next; nothing: only raise `RankError` where one is gone."""
        if self._lost is None and order:
            for member in self._members.values():
                try:
                    member.wire.send({"order": order})
                except OSError:
                    self._lose(member, "its connection is broken")
        if self._lost is not None:
            self._is_noticed.set()
            raise self._lost

    def blame(self, error: Exception) -> RankError:
        """Who is gone, as soon as that is known."""
        deadline = time.monotonic() + _BLAME_SECONDS
        while self._lost is None and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        self._is_noticed.set()
        if self._lost is not None:
            return self._lost
        busy = [rank for rank, member in self._members.items() if not member.is_waiting]
        who = f"rank {_numbers(busy)} kept the others" if busy else "the ranks kept each other"
        return RankError(f"{who} waiting until the copy between them failed: {error}")

    def states(self, step: int, waited_ms: float) -> tuple[RankState, ...]:
        """By rank; rank 0 is this process."""
        me = replace(self.me, step=step, waited_ms=round(waited_ms, 3))
        return (me, *(self._members[rank].state for rank in sorted(self._members)))

    def close(self) -> None:
        """Send the others home; children that don't go are killed."""
        self._is_over.set()
        for member in self._members.values():
            try:
                member.wire.send({"order": "end"})
            except OSError:
                continue
        can_hear = self._is_watching and self._lost is None and not self.is_needed()
        for child in self._children.values():
            child.end(_LEAVE_SECONDS if can_hear else 0.0)
        for member in self._members.values():
            member.wire.close()
        self._listening.close()

    def _take_in(self, connection: socket.socket, torch_version: str) -> None:
        """A connection that doesn't say which rank it is, is none of ours."""
        connection.settimeout(_HELLO_SECONDS)
        wire = Wire(connection)
        try:
            hello = wire.receive()[0]
            rank = int(hello["rank"])
            state = RankState(rank=rank, host=str(hello["host"]), pid=int(hello["pid"]))
        except (OSError, EOFError, LookupError, TypeError, ValueError):
            wire.close()
            return
        connection.settimeout(None)
        if not 0 < rank < self.size or hello.get("size") != self.size or rank in self._members:
            wire.close()
            return
        if hello.get("torch") != torch_version:
            raise SettingsError(
                f"train.ranks: rank {rank} on {shown(state.host)} has torch"
                f" {shown(str(hello.get('torch')))}, rank 0 has {torch_version}: no step would"
                " repeat; install the same on all machines"
            )
        self._members[rank] = _Member(wire=wire, state=state, child=self._children.get(rank))

    def _require_children(self) -> None:
        for rank, child in self._children.items():
            if how := child.ended():
                raise RankError(f"rank {rank} ended while it joined: {how}")

    def _watch(self) -> None:
        """The thread that hears of all until the end, or until one is lost."""
        with selectors.DefaultSelector() as selector:
            for member in self._members.values():
                selector.register(member.wire, selectors.EVENT_READ, member)
            due = time.monotonic() + self._tick
            while self._lost is None and not self._is_over.is_set():
                for key, _ in selector.select(max(0.0, due - time.monotonic())):
                    self._hear(key.data)
                if time.monotonic() >= due:
                    due = time.monotonic() + self._tick
                    self._miss()
        if self._lost is not None and not self._is_over.is_set():
            self._see_to_the_end(self._lost)

    def _hear(self, member: _Member) -> None:
        try:
            for told in member.wire.receive():
                self._take(member, told)
        except (OSError, EOFError):
            if not self._is_over.is_set():
                how = (
                    member.child and member.child.ended(_BLAME_SECONDS)
                ) or "its connection ended"
                self._lose(member, member.error or how)

    def _take(self, member: _Member, told: Told) -> None:
        member.heard_at, member.n_silent = time.time(), 0
        member.error = str(told.get("error", member.error))
        member.is_waiting = bool(told.get("is_waiting", member.is_waiting))
        member.state = replace(
            member.state,
            step=int(told.get("step", member.state.step)),
            waited_ms=float(told.get("waited_ms", member.state.waited_ms)),
            device=str(told.get("device", member.state.device)),
        )

    def _miss(self) -> None:
        """A tick is over: who has given no sign of life, and a sign of life to each."""
        for member in self._members.values():
            member.n_silent += 1
            if member.n_silent > self._most_silent:
                self._lose(member, f"nothing heard of it for {self._seconds:g} s")
                return
            try:
                member.wire.send({})
            except OSError:
                continue  # its end is read, too, with what it said before

    def _lose(self, member: _Member, how: str) -> None:
        member.state = replace(member.state, lost_since=member.heard_at, lost=how)
        who = f"rank {member.state.rank} (pid {member.state.pid} on {shown(member.state.host)})"
        since = time.strftime("%H:%M:%S", time.localtime(member.heard_at))
        self._lost = RankError(
            f"{who} is lost since {since}: {shown(how)}; the next start resumes from the newest"
            " checkpoint"
        )
        for child in self._children.values():
            child.kill()  # they can't go on, and copies that wait for one that hangs fail by it

    def _see_to_the_end(self, lost: RankError) -> None:
        """Copies of a device's own may wait for ever for a rank that is gone."""
        if not self._is_noticed.wait(_GRACE_SECONDS) and self.is_needed():
            self.give_up(lost)


def _numbers(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks))

"""Several ranks come together: rank 0 leads, the others follow until it sends them home.

Imported where there is more than one: it loads torch.
"""

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import orjson
import torch

from trainer.crew.follower import Follower, reach
from trainer.crew.leader import JOIN_SECONDS, Leader
from trainer.crew.starting import die_with_parent, start_ranks
from trainer.crew.where import Where
from trainer.engine.device import place, require_devices
from trainer.engine.engine import Engine
from trainer.engine.ranks import Ranks, join, meeting_at
from trainer.persistence.output import print_line
from trainer.persistence.reporter import Reporter
from trainer.rundir.config.settings import Settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit, RankError, RunError
from trainer.rundir.state import tolerant
from trainer.signals import Signals


def lead(
    run: RunDirectory, settings: Settings, where: Where, reporter: Reporter, signals: Signals
) -> Ranks:
    """All ranks of the run, joined; rank 0 alone, where there is no other.

    Raises `SettingsError`, `RankError`, `StopRequested`; no rank is left behind then.
    """
    is_given = where.size > 1
    size = where.size if is_given else require_devices(settings.train)
    settings.require_ranks(size)
    if size == 1:
        return Ranks()
    seconds = settings.train.rank_timeout_seconds
    reporter.now(detail=f"waiting for {size} ranks")
    if is_given:
        port = 0 if where.meets_in_store else where.port
        leader = Leader(size, seconds=seconds, host="", port=port)
    else:
        leader = Leader(size, seconds=seconds)
    try:
        if not is_given:
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
            leader.begin_with(start_ranks(run.path, size, leader.port))
        elif where.meets_in_store:
            _store_of(where).set(_address_key(where), f"{where.host}:{leader.port}")
        leader.gather(torch.__version__, signals.stop_if_asked)
        return _joined(settings, where, size, leader, reporter)
    except BaseException:
        leader.close()
        raise


def _joined(
    settings: Settings, where: Where, size: int, leader: Leader, reporter: Reporter
) -> Ranks:
    seconds = settings.train.rank_timeout_seconds
    store = meeting_at(where.host or "127.0.0.1", 0, seconds, leads=True)
    leader.give_up = partial(_give_up, reporter)
    leader.welcome(
        {
            "settings": orjson.loads(orjson.dumps(settings)),
            "threads": torch.get_num_threads(),
            "port": store.port,
        }
    )
    ranks = join(0, size, leader, store, seconds)
    ranks.local = where.local
    device = place(settings.train, where.local).name
    leader.me = replace(leader.me, device=device)
    leader.is_needed = lambda: ranks.is_in_step
    return ranks


def _give_up(reporter: Reporter, error: RankError) -> None:
    """The training waits for a rank that is gone and can't be told: its state tells why."""
    reporter.now(
        doing="failed", detail="", takes_signals=False, exit_code=int(Exit.ERROR), reason=str(error)
    )
    reporter.say(f"failed: {error}")
    os._exit(Exit.ERROR)


def follow(where: Where) -> Exit:
    """A rank that does as rank 0 orders."""
    if where.is_child:
        die_with_parent()
    try:
        follower = Follower(reach(where, partial(_address, where)), where)
        told = follower.greet(
            {
                "rank": where.rank,
                "size": where.size,
                "host": socket.gethostname(),
                "pid": os.getpid(),
                "torch": torch.__version__,
            }
        )
    except RankError as error:
        print_line(f"andrea-trainer: {error}", to=sys.stderr)
        return error.exit_code
    try:
        _work(follower, where, told)
    except (RunError, RuntimeError, MemoryError) as error:
        follower.say({"error": f"{type(error).__name__}: {error}".partition("\n")[0]})
        raise
    return Exit.FINISHED


def _work(follower: Follower, where: Where, told: dict[str, Any]) -> None:
    settings = tolerant(Settings, told["settings"])
    seconds = settings.train.rank_timeout_seconds
    torch.set_num_threads(told["threads"])
    follower.stay_in_touch(seconds)
    store = meeting_at(where.host, told["port"], seconds, leads=False)
    ranks = join(where.rank, where.size, follower, store, seconds)
    ranks.local = where.local
    engine = Engine(settings, ranks)
    follower.view = partial(_view, engine)
    for order in follower.orders():
        with ranks.together(order):
            _obey(engine, order)


def _view(engine: Engine) -> dict[str, Any]:
    return {
        "step": engine.step,
        "waited_ms": round(engine.ranks.waited_ms, 3),
        "is_waiting": engine.ranks.is_waiting,
        "device": engine.placement.name,
    }


def _obey(engine: Engine, order: str) -> None:
    nothing = torch.empty(0)
    what, _, step = order.partition(" ")
    acts: dict[str, Callable[[], object]] = {
        "begin": lambda: engine.follow(0),
        "resume": lambda: engine.follow(int(step)),
        "finite": engine.are_finite,
        "step": lambda: engine.train_step(None),
        "save": lambda: engine.parameters.collect((nothing, nothing)),
    }
    acts[what]()


def _address(where: Where) -> tuple[str, int]:
    """Where rank 0 listens."""
    if not where.meets_in_store:
        return where.host, where.port
    host, _, port = _store_of(where).get(_address_key(where)).decode().rpartition(":")
    return host, int(port)


def _address_key(where: Where) -> str:
    return f"andrea/{where.attempt}/rank 0"


def _store_of(where: Where) -> Any:
    """torchrun's own, which is there before any rank."""
    return meeting_at(where.host, where.port, JOIN_SECONDS, leads=False)

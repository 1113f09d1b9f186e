"""What a mutated run is put to: verbs, the console without a terminal, a trainer's start."""

import os
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from console.cli import main as console_main
from console.operations.actions import ACTIONS
from tests.crash.fuzz.forked_trainer import fork_trainers
from tests.crash.fuzz.headless_console import watch_run
from tests.tiny import ROOT
from trainer.cli import main as trainer_main

REAL_SHARE = 0.004
"""Of the verbs so many run as processes of their own, from the command line on."""


@dataclass(frozen=True, kw_only=True)
class Act:
    """One thing done to a run."""

    name: str
    """`status`, …, or `console`, or `trainer`."""
    arguments: tuple[str, ...] = ()
    """After the run."""
    makes: tuple[str, ...] = ()
    """Names of siblings that may be there afterwards."""
    is_real: bool = False
    """As a process of its own."""

    @property
    def is_json(self) -> bool:
        return "--json" in self.arguments

    @property
    def is_trainer(self) -> bool:
        return self.name == "trainer"

    def words(self, run: str) -> list[str]:
        """The command line."""
        if self.is_trainer:
            return ["andrea-trainer", run, *self.arguments]
        verb = [] if self.name == "console" else [self.name]
        return ["andrea-console", *verb, run, *self.arguments]


def perform(act: Act, run: Path) -> int:
    """Do it in this process (a child of the fuzzer's); the exit code."""
    if act.is_real:
        _become(act, run)
    if act.is_trainer:
        return trainer_main([str(run), *act.arguments])
    if act.name == "prepare":  # what the verb becomes
        return trainer_main(["prepare", str(run)])
    fork_trainers()
    if act.name == "console":
        return watch_run(run, act.arguments)
    return console_main(act.words(str(run))[1:])


def _become(act: Act, run: Path) -> None:
    words = act.words(str(run))
    module = words[0].removeprefix("andrea-")
    os.environ["PYTHONPATH"] = str(ROOT)
    os.execv(sys.executable, [sys.executable, "-P", "-m", module, *words[1:]])


def draw_act(chance: random.Random, policy: Path, other: Path) -> Act:
    """`policy`: a policy file. `other`: a run to compare with."""
    kinds = list(DRAWN)
    weights = [weight for weight, _ in DRAWN.values()]
    name = chance.choices(kinds, weights)[0]
    act = Act(name=name)
    act = replace(act, arguments=tuple(DRAWN[name][1](chance, str(policy), str(other))))
    if name == "fork":
        act = replace(act, makes=(act.arguments[3],))
    is_real = name not in ("console", "trainer") and chance.random() < REAL_SHARE
    return replace(act, is_real=is_real)


Draw = Callable[[random.Random, str, str], list[str]]


def _perhaps(*words: str, share: float = 0.5) -> Draw:
    return lambda chance, policy, other: [word for word in words if chance.random() < share]


def _compare(chance: random.Random, policy: str, other: str) -> list[str]:
    return [other, *_perhaps("--json")(chance, policy, other)]


def _verify(chance: random.Random, policy: str, other: str) -> list[str]:
    mends = _perhaps("--mend", "--give-up-history", share=0.3)(chance, policy, other)
    return [*mends, *_perhaps("--json")(chance, policy, other)]


def _thin(chance: random.Random, policy: str, other: str) -> list[str]:
    keep = chance.choice(("1", "1", "2", "0", "-1", "9" * 30))
    return ["--keep-last", keep, *_perhaps("--yes")(chance, policy, other)]


def _pin(chance: random.Random, policy: str, other: str) -> list[str]:
    step = chance.choice((["6"], ["6"], ["3"], ["7"], ["-1"], ["9" * 30], []))
    return [*step, *chance.choice(([], ["--remove"], ["--note", "a\x1b[2J\nb\udcff"]))]


def _evaluate(chance: random.Random, policy: str, other: str) -> list[str]:
    step = chance.choice(([], ["--step", "6"], ["--step", "3"], ["--step", "9" * 30]))
    return [*step, *chance.choice(([], ["--json"], ["--source", "\udcff"], ["--device", "x"]))]


def _text(chance: random.Random, policy: str, other: str) -> list[str]:
    step = chance.choice(("6", "6", "1", "7", "0", "-1", "9" * 30))
    rows = chance.choice(([], ["--rows", "1..2"], ["--rows", "9"], ["--around", "2"]))
    return ["--step", step, *rows, *_perhaps("--json")(chance, policy, other)]


def _seen(chance: random.Random, policy: str, other: str) -> list[str]:
    words = chance.choice((["the"], ["\udcff"], ["a\x1b[2J"], ["--file", "a:1"], []))
    return [*words, *_perhaps("--json")(chance, policy, other)]


def _fork(chance: random.Random, policy: str, other: str) -> list[str]:
    step = chance.choice(("6", "6", "6", "3", "7", "0", "-1", "9" * 30))
    names = ("b", "b", "b", "b", "../b", "a b", "\x1b[2J", "a\nb", "\udcff", "n" * 300, "", ".")
    settings = chance.choice(([], [], ["--set", "optimizer.lr=1e-3"], ["--set", "train.seed=["]))
    change = chance.choice(([], [], ["--policy", policy]))
    return ["--at", step, "--name", chance.choice(names), *settings, *change]


def _pivot(chance: random.Random, policy: str, other: str) -> list[str]:
    if chance.random() < 0.5:
        return ["--policy", policy, *_perhaps("--now")(chance, policy, other), "--yes"]
    return [chance.choice(("--continue", "--roll-back"))]


def _waits(chance: random.Random, policy: str, other: str) -> list[str]:
    return ["--timeout", "0.3"]


def _until(chance: random.Random, policy: str, other: str) -> list[str]:
    return ["--until", chance.choice(("8", "10", "15"))]


def _keys(chance: random.Random, policy: str, other: str) -> list[str]:
    n_keys = chance.choice((0, 3, 8, 15))
    return [chance.choice(chance.choice((_OFTEN, EVERY_KEY))) for _ in range(n_keys)]


EVERY_KEY = tuple(
    sorted({key for action in ACTIONS for key in action.keys.split(",") if key} - {"d", "ctrl+c"})
)
"""Of the table of actions, but for those that leave at once."""
_OFTEN = (
    *("c", "p", "t", "f", "r", "question_mark", "q", "enter", "enter", "escape", "escape"),
    *("tab", "shift+tab", "up", "down", "left", "right", "space", "home", "end", "plus", "minus"),
    *("1", "0", "z", "n", "b", "x", "full_stop", "pageup", "pagedown", "backspace"),
    *("h", "e", "exclamation_mark", "colon", "T"),
    *("4", "4", "P", "n", "s", "F", "g", "e", "exclamation_mark"),
    *("2", "5", "w", "at", "slash"),
)

DRAWN: dict[str, tuple[int, Draw]] = {
    "status": (24, _perhaps("--json", share=0.6)),
    "verify": (10, _verify),
    "compare": (9, _compare),
    "thin": (7, _thin),
    "pin": (5, _pin),
    "evaluate": (1, _evaluate),
    "text": (2, _text),
    "seen": (2, _seen),
    "prepare": (2, _perhaps()),
    "service": (4, _perhaps("--system")),
    "fork": (8, _fork),
    "pivot": (12, _pivot),
    "checkpoint": (5, _waits),
    "stop": (5, _waits),
    "console": (6, _keys),
    "trainer": (10, _until),
}

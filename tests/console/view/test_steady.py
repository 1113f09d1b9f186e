"""A figure on the screen stands until it has moved by what a person would mind."""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from console.view.gpu import Gpus
from console.view.machine import Machine
from console.view.steady import steady
from tests.console.fixed_run import fixed_machine


def fluttering(seed: int) -> Machine:
    """The fixed machine, with each figure moved by what moves at rest."""
    dice, machine = random.Random(seed), fixed_machine()
    gpu, trainer = machine.gpus.rows[0], machine.trainer
    assert gpu.celsius
    assert gpu.watts
    assert trainer
    assert trainer.rss_bytes
    assert machine.ram_used_bytes
    return replace(
        machine,
        cpu_share=0.12 + dice.uniform(-0.02, 0.02),
        ram_used_bytes=machine.ram_used_bytes + dice.randint(-100_000_000, 100_000_000),
        trainer=replace(
            trainer,
            rss_bytes=trainer.rss_bytes + dice.randint(-20_000_000, 20_000_000),
            write_rate=14_400_000.0 + dice.uniform(-1e6, 1e6),
        ),
        gpus=Gpus(
            rows=(replace(gpu, celsius=gpu.celsius + dice.randint(0, 1), watts=gpu.watts + 2.0),)
        ),
    )


def test_a_machine_that_only_flutters_is_the_same_all_the_time() -> None:
    shown = steady(fluttering(0), None)
    for seed in range(1, 200):
        before, shown = shown, steady(fluttering(seed), shown)
        assert shown == before


@given(st.lists(st.floats(0.0, 1.0), min_size=1))
def test_what_is_shown_is_never_far_from_what_is(shares: list[float]) -> None:
    shown = None
    for share in shares:
        shown = steady(Machine(cpu_share=share), shown)
        assert shown.cpu_share is not None
        assert abs(shown.cpu_share - share) < 0.05


def test_a_figure_that_creeps_moves_the_shown_one_in_the_end() -> None:
    shown = steady(Machine(ram_used_bytes=10_000_000_000), None)
    seen = set()
    for used in range(10_000_000_000, 20_000_000_000, 10_000_000):
        shown = steady(Machine(ram_used_bytes=used), shown)
        seen.add(shown.ram_used_bytes)
    assert 10 < len(seen) < 40


def test_nothing_at_all_and_the_unknown_are_said_at_once() -> None:
    shown = steady(Machine(cpu_share=0.01), None)
    shown = steady(Machine(cpu_share=0.0), shown)
    assert shown.cpu_share == 0.0
    shown = steady(Machine(cpu_share=None), shown)
    assert shown.cpu_share is None
    assert steady(Machine(cpu_share=0.01), shown).cpu_share == 0.01


def test_an_error_of_a_gpu_is_shown_at_once() -> None:
    shown = steady(fixed_machine(), None)
    row = replace(fixed_machine().gpus.rows[0], xid=79, slowed_by=("heat",))
    now = replace(fixed_machine(), gpus=Gpus(rows=(row,)))
    assert steady(now, shown).gpus.rows == (row,)

"""Numbers that depend on their purpose alone."""

from trainer.proxy.randomness import derive_seed, derive_uniform


def test_the_same_purpose_gives_the_same_number_for_ever() -> None:
    assert derive_seed("sample", 1337, 100) == 0x244BC5308C815039
    assert derive_uniform("arm", 1337, 1) == 0.15181328134488858


def test_every_part_matters_and_parts_do_not_run_together() -> None:
    seeds = {
        derive_seed("a", 1, 2),
        derive_seed("a", 2, 1),
        derive_seed("a", 12),
        derive_seed("a", "1", 2),
        derive_seed("a1", 2),
    }
    assert len(seeds) == 5


def test_uniform_numbers_fill_the_unit_interval_evenly() -> None:
    numbers = [derive_uniform("arm", 0, step) for step in range(4000)]
    assert 0 <= min(numbers) < 0.01
    assert 0.99 < max(numbers) < 1
    assert abs(sum(numbers) / len(numbers) - 0.5) < 0.02

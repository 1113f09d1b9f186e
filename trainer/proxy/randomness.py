"""Derive random numbers from what they are for: same purpose, same number, for ever."""

from hashlib import blake2b

_BITS = 64


def derive_seed(purpose: str, *parts: int | str) -> int:
    """A number in [0, 2**64) that depends on nothing but its arguments.

    BLAKE2b of the arguments' `repr`: no state, no order of calls, the same on every machine.
    """
    return int.from_bytes(
        blake2b(repr((purpose, *parts)).encode(), digest_size=_BITS // 8).digest()
    )


def derive_uniform(purpose: str, *parts: int | str) -> float:
    """A number in [0, 1) with 53 random bits, derived as in `derive_seed`."""
    return (derive_seed(purpose, *parts) >> (_BITS - 53)) * 2.0**-53

"""A keyed permutation of any size, a number at a time: nothing is kept but the key."""

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.randomness import derive_seed

_ROUNDS = 6


class Permutation:
    """Of the numbers below `n`, another one for each purpose.

    Unbalanced Feistel rounds on two digits of nearly equal bases whose product is `n` or little
    more; what comes out beyond `n` is put in again until it doesn't. Integers alone, so that it is
    the same for ever and on every machine.
    """

    def __init__(self, n: int, purpose: str, *parts: int | str) -> None:
        """`n` in [1, 2**62)."""
        self._n = np.uint64(n)
        first = isqrt(n - 1) + 1
        self._bases = np.uint64(first), np.uint64(-(-n // first))
        keys = (derive_seed(purpose, *parts, number) for number in range(_ROUNDS))
        self._keys = [np.uint64(key) for key in keys]

    def __call__(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where each of `numbers`, all in [0, n), goes."""
        found = self._once(numbers.astype(np.uint64))
        while (beyond := np.flatnonzero(found >= self._n)).size:
            found[beyond] = self._once(found[beyond])
        return found.astype(np.int64)

    def inverse(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """What goes to each of `numbers`, all in [0, n)."""
        found = self._back(numbers.astype(np.uint64))
        while (beyond := np.flatnonzero(found >= self._n)).size:
            found[beyond] = self._back(found[beyond])
        return found.astype(np.int64)

    def _once(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        n_high, n_low = self._bases
        high, low = np.divmod(numbers, n_low)
        for even, odd in zip(self._keys[::2], self._keys[1::2], strict=True):
            high = (high + _mixed(low, even) % n_high) % n_high
            low = (low + _mixed(high, odd) % n_low) % n_low
        return high * n_low + low

    def _back(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        n_high, n_low = self._bases
        high, low = np.divmod(numbers, n_low)
        for even, odd in zip(self._keys[-2::-2], self._keys[::-2], strict=True):
            low = (low + n_low - _mixed(high, odd) % n_low) % n_low
            high = (high + n_high - _mixed(low, even) % n_high) % n_high
        return high * n_low + low


def _mixed(numbers: NDArray[np.uint64], key: np.uint64) -> NDArray[np.uint64]:
    """All bits of a number and the key in each bit of the result (the finaliser of SplitMix64)."""
    mixed = numbers + key
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))

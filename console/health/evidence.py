"""What the judge is given of a run; everything that a trainer did not write is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Values = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]

_NO_FLOATS: Floats = np.empty(0)
_NO_INTEGERS: Integers = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """The canonical history and the audits; arrays are not written to.

    Of n records: `step` strictly increasing; the others have shape (n,), or (0,) where nothing
    of the kind is known; NaN (in `arm` -1) is unknown. `arm` indexes `arms`.
    """

    step: Integers
    loss: Floats
    grad_norm: Floats = field(default_factory=lambda: _NO_FLOATS)
    ms: Floats = field(default_factory=lambda: _NO_FLOATS)
    """Step time, milliseconds."""
    tokens: Floats = field(default_factory=lambda: _NO_FLOATS)
    arm: Integers = field(default_factory=lambda: _NO_INTEGERS)
    arms: tuple[str, ...] = ()
    pivots: tuple[int, ...] = ()
    """First steps of what may move levels at once: a phase, or other settings."""
    restarts: tuple[int, ...] = ()
    """First steps of the trainer's starts."""
    max_grad_norm: float | None = None
    """The norm that gradients are clipped to; `None`: unknown."""
    audit_step: Integers = field(default_factory=lambda: _NO_INTEGERS)
    """Of a audits, ascending; what follows has shape (a,) or (0,)."""
    score: Floats = field(default_factory=lambda: _NO_FLOATS)
    val_loss: Floats = field(default_factory=lambda: _NO_FLOATS)
    val_losses: Mapping[str, Floats] = field(default_factory=dict)
    """By source, each of shape (a,)."""

    def __len__(self) -> int:
        return len(self.step)


def codes_in(codes: Integers) -> list[int]:
    """Those that occur, ascending, of some from -1 on; numpy's `unique` sorts them all."""
    found: list[int] = (np.flatnonzero(np.bincount(codes + 1)) - 1).tolist()
    return found


def first_steps(step: Integers, code: Integers) -> tuple[int, ...]:
    """Where a code (n,) becomes another: the first steps of phases, or of the trainer's starts.

    Unknown ones (-1) are passed over.
    """
    known = np.flatnonzero(code != -1)
    changed = known[1:][code[known][1:] != code[known][:-1]]
    return tuple(int(each) for each in step[changed])

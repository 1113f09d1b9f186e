"""The C library's allocator, told to keep less than it would."""

import contextlib
import ctypes

_M_ARENA_MAX = -8
"""mallopt(3)"""


def use_one_arena() -> None:
    """Before any thread: an arena a thread keeps what each one freed, 5 MB of 100."""
    with contextlib.suppress(AttributeError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def give_back_freed() -> None:
    """What was needed for a moment, in the midst of what stays, to the system; takes 1 ms."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)

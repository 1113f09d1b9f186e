"""A moment of quiet that must pass before keys count: no paste or double tap gets through."""

from collections.abc import Callable

QUIET_SECONDS = 0.6


class InputGuard:
    """Closed until no key came for `quiet_seconds`; every key meanwhile starts them anew.

    So a paste that arrives as plain keys is ignored to its end, however long it is.
    """

    def __init__(self, clock: Callable[[], float], *, quiet_seconds: float = QUIET_SECONDS) -> None:
        """`clock` is monotonic, in seconds."""
        self._clock = clock
        self._quiet_seconds = quiet_seconds
        self.close()

    def close(self) -> None:
        """Begin a new moment of quiet."""
        self._opens_at = self._clock() + self._quiet_seconds

    @property
    def is_open(self) -> bool:
        return self.remaining_seconds <= 0

    @property
    def remaining_seconds(self) -> float:
        """How long until it opens if no key comes."""
        return max(0.0, self._opens_at - self._clock())

    def lets_through(self) -> bool:
        """Whether a key that came now counts."""
        if self.is_open:
            return True
        self.close()
        return False

"""How long a run has stood still: by this process's own two looks, else by the files' times."""


class IdleWatch:
    """Remembers what moved last. All times are seconds of the monotonic clock."""

    def __init__(self) -> None:
        self._moved: object = None
        self._since = self._first_look_at = 0.0
        self._has_moved = False

    def seconds(self, moved: object, *, now: float, before: float) -> float:
        """Since `moved` was last another; at the first look, since `before` seconds ago."""
        if self._moved is None:
            self._since, self._first_look_at = now - before, now
        elif moved != self._moved:
            self._since, self._has_moved = now, True
        self._moved = moved
        return now - self._since

    def doubt_seconds(self, *, now: float, ago: float | None, patience_seconds: float) -> float:
        """How long to look on until this process knows by itself whether the run stands still.

        `ago`: how long the files' newest time lies back by this machine's clock, negative if it
        lies ahead. Where that is within the patience, it is believed.
        """
        if self._has_moved or ago is None or abs(ago) <= patience_seconds:
            return 0.0
        return max(0.0, self._first_look_at + patience_seconds - now)

"""What an exploration of crash states has tried."""

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Tally:
    """What was tried, and what went wrong."""

    states: int = 0
    """Different directories."""
    resumed: int = 0
    """Of them, trained to the end."""
    failures: list[str] = field(default_factory=list)

"""What a scripted operation comes back with."""

from dataclasses import dataclass


@dataclass
class Told:
    """What an operation comes back with."""

    ok: bool = True
    message: str = "done"

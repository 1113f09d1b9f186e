"""What one more trainer needs of the machine's and of the card's memory, against what is free."""

from dataclasses import dataclass

from console import formatting
from console.process.card_memory import card_memory
from console.process.presence import presence_of
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.memory import available_bytes
from trainer.rundir.state import read_state

_BYTES_A_PARAMETER = 16
"""Weight, gradient, m and v, float32 each: what no trainer can do without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNeed:
    """Of one kind of memory, bytes."""

    where: str
    each_bytes: int
    """A trainer, as this run's has it; or what it needs at least."""
    is_measured: bool
    free_bytes: int | None
    """None: not known."""

    def is_enough(self, n_trainers: int) -> bool | None:
        """Whether so many more find room; None: that can't be told."""
        if self.free_bytes is None:
            return None
        if n_trainers * self.each_bytes > self.free_bytes:
            return False
        return True if self.is_measured else None

    def words(self, n_trainers: int) -> str:
        """Need and room, for a person."""
        about = "about" if self.is_measured else "at least"
        need = formatting.size(n_trainers * self.each_bytes)
        free = "what is free isn't known"
        if self.free_bytes is not None:
            free = f"{formatting.size(self.free_bytes)} is free"
        return f"{self.where}: {about} {need} more is needed; {free}"


def memory_needs(run: RunDirectory) -> tuple[MemoryNeed, ...]:
    """Of the machine, and of the card where there is one; raises `SettingsError`, may block."""
    settings, state = load_settings(run.settings), read_state(run.state)
    least = settings.model.n_params * _BYTES_A_PARAMETER
    peak = state.memory.peak_bytes if state is not None and state.memory is not None else 0
    machine = _need("memory", peak, least, available_bytes() or None)
    device = settings.train.device
    if device == "cpu":
        return (machine,)
    holder = presence_of(run).holder
    _, _, number = device.partition(":")
    card = card_memory(holder.pid if holder else None, int(number) if number else None)
    if card is None:
        return (machine,)
    return (machine, _need(card.card, card.used_bytes or 0, least, card.free_bytes))


def _need(where: str, measured: int, least: int, free: int | None) -> MemoryNeed:
    each = measured or least
    return MemoryNeed(where=where, each_bytes=each, is_measured=bool(measured), free_bytes=free)

"""How far the text of a run's sources is on its way to tokens."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparing:
    """Of all sources that are prepared at this start; bytes are those of their files."""

    source: str = ""
    """The one under way."""
    files_done: int = 0
    files: int = 0
    bytes_done: int = 0
    bytes: int = 0
    bytes_per_second: float | None = None
    """Since this start began; `None`: not known yet."""
    seconds_left: float | None = None

    @property
    def words(self) -> str:
        """For a person: `preparing web: 3 of 120 files, 1.20 of 96.00 GB, 17.5 MB/s, 1:30 h left`.

        A source without files, of Python's own text, is told by its name alone.
        """
        if not self.files:
            return f"preparing {self.source}"
        unit, name = (1e9, "GB") if self.bytes >= 1e9 else (1e6, "MB")
        files = "file" if self.files == 1 else "files"
        told = [
            f"preparing {self.source}: {self.files_done:,} of {self.files:,} {files}",
            f"{self.bytes_done / unit:,.2f} of {self.bytes / unit:,.2f} {name}",
        ]
        if self.bytes_per_second is not None:
            told.append(f"{self.bytes_per_second / 1e6:.1f} MB/s")
        if self.seconds_left is not None:
            told.append(f"{_duration(self.seconds_left)} left")
        return ", ".join(told)


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02} h" if minutes >= 60 else f"{max(minutes, 1)} min"

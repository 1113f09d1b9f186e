"""Numbers and times as the console shows them; pure, and `–` for the unknown.

Durations are coarse on purpose: what is drawn from them changes once a minute, not each second.
"""

import math
import time

UNKNOWN = "–"
_DAY_SECONDS = 86_400
_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def times(count: float | None) -> str:
    """`0.31×`, `12.3×`, `120×`."""
    if count is None:
        return UNKNOWN
    return f"{number(count, 2 if count < 9.995 else 1 if count < 99.95 else 0)}×"


def steps(count: int | None) -> str:
    """`112,700`."""
    return UNKNOWN if count is None else f"{count:,}"


def count(number: int | None, thing: str) -> str:
    """`1 file`, `12 files`."""
    return f"{steps(number)} {thing}{'' if number == 1 else 's'}"


def short_steps(count: int | None) -> str:
    """At most six cells: `950`, `112.7k`, `1.25M`, `31.5M`, `104.9B`."""
    if count is None:
        return UNKNOWN
    for size, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k")):
        if abs(count) >= size:
            digits = 2 if abs(count) < 10 * size and size > 10**3 else 1
            shown = f"{count / size:.{digits}f}".rstrip("0").rstrip(".")
            return f"{shown}{unit}"
    return str(count)


def about_steps(step: int) -> str:
    """Three digits of it, as far as a step that was estimated can be told: `121,000`."""
    unit = 10 ** max(0, len(str(abs(step))) - 3)
    return steps(round(step / unit) * unit)


def size(n_bytes: int | None) -> str:
    """Decimal units, three digits: `1.44 GB`, `154 MB`, `8 B`."""
    if n_bytes is None:
        return UNKNOWN
    value, unit = float(n_bytes), 0
    while abs(value) >= 999.5 and unit < len(_BYTE_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{_three_digits(value) if unit else n_bytes} {_BYTE_UNITS[unit]}"


def _three_digits(value: float) -> str:
    magnitude = abs(value)
    digits = 2 if magnitude < 9.995 else 1 if magnitude < 99.95 else 0
    return f"{value:.{digits}f}"


def duration(seconds: float | None) -> str:
    """`12 s`, `3 min`, `2 h 05`, `23 d 4 h`: two units at most."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d}"
    days, hours = whole // 86400, whole % 86400 // 3600
    return f"{days:,} d {hours} h" if days < 100 else f"{days:,} d"


def age(seconds: float | None) -> str:
    """Like `duration`, but `< 1 min` for all that is younger: it may stand still on screen.

    A time that lies ahead (a clock was set) is `< 1 min` too.
    """
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    return "< 1 min" if seconds < 60 else duration(seconds)


def precise_seconds(seconds: float | None) -> str:
    """How long a save or an audit took: `0.04 s`, `1.3 s`, `12 s`, `3 min`."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    if seconds < 0.995:
        return f"{max(seconds, 0.0):.2f} s"
    return f"{seconds:.1f} s" if seconds < 9.95 else duration(seconds)


def moment(t: float | None) -> str:
    """A wall-clock time in the operator's zone: `2026-11-28 14:05`."""
    return UNKNOWN if t is None else _local(t, "%Y-%m-%d %H:%M")


def date(t: float | None, now: float) -> str:
    """A time that was, in the operator's zone, at most 12 cells: `Jun  4 22:40`, `2025-06-04`."""
    if t is None:
        return UNKNOWN
    return _local(t, "%b %e %H:%M" if _year(t) == _year(now) else "%Y-%m-%d")


def coming(t: float | None, now: float) -> str:
    """A time that comes, in the operator's zone: `14:20`, `Thu 14:20`, `Jun 12`, `Jun 12 2027`."""
    if t is None or not math.isfinite(t):
        return UNKNOWN
    if t - now < _DAY_SECONDS and _local(t, "%d") == _local(now, "%d"):
        return _local(t, "%H:%M")
    if t - now < 6 * _DAY_SECONDS:
        return _local(t, "%a %H:%M")
    return _local(t, "%b %-d" if _year(t) == _year(now) else "%b %-d %Y")


def when(t: float | None, now: float, *, is_dated: bool) -> str:
    """A time that was, as its date or by how long ago it was: `7 min ago`."""
    if is_dated or t is None:
        return date(t, now)
    return f"{age(now - t)} ago"


def _local(t: float, pattern: str) -> str:
    try:
        return time.strftime(pattern, time.localtime(t))
    except (OverflowError, ValueError, OSError):
        return UNKNOWN


def _year(t: float) -> str:
    return _local(t, "%Y")


def rate(steps_per_minute: float | None) -> str:
    """`6.0/min`, `740/min`."""
    if steps_per_minute is None or not math.isfinite(steps_per_minute):
        return UNKNOWN
    digits = 2 if steps_per_minute < 0.995 else 1 if steps_per_minute < 99.95 else 0
    return f"{steps_per_minute:,.{digits}f}/min"


def replay(last_step: int, *, is_running: bool) -> str:
    """What the history holds beyond the run's step, which is trained again to be compared."""
    if is_running:
        return f"proving again up to {steps(last_step)}"
    return f"recorded up to {steps(last_step)}, to be proven again"


def loss(value: float | None, nonfinite: str = "") -> str:
    """Four decimals; a loss that was not finite by its name (`NaN`), never as a number."""
    if nonfinite:
        return nonfinite
    if value is None:
        return UNKNOWN
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"{value:.4f}" if abs(value) < 10_000 else f"{value:.3g}"


def number(value: float | None, digits: int = 2) -> str:
    """A plain number with a fixed count of decimals; what is huge in powers of ten."""
    if value is None:
        return UNKNOWN
    return f"{value:,.{digits}f}" if abs(value) < 1e9 or math.isinf(value) else f"{value:.3g}"


def score(value: float | None) -> str:
    """A coherence score, 0 to 100: `61.3`."""
    return number(value, 1)


def learning_rate(value: float | None) -> str:
    """`3.00e-04`."""
    return UNKNOWN if value is None else f"{value:.2e}"


def percent(fraction: float | None, digits: int = 0) -> str:
    """A share of 0 to 1 as `56 %`; all done is said only when it is."""
    if fraction is None or not math.isfinite(fraction):
        return UNKNOWN
    shown = f"{fraction * 100:.{digits}f}"
    if fraction < 1 and float(shown) >= 100:
        shown = f"{100 - 10**-digits:.{digits}f}"
    return f"{shown} %"

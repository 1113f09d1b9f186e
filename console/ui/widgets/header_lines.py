"""What is always in sight, as lines: a view, a width and the time in, text out."""

from dataclasses import dataclass

from textual.content import Content

from console import formatting
from console.ui.theme import ACCENT, AMBER, DIM, GLYPHS, GOOD, RED, RED_BLOCK, STATE_STYLES
from console.ui.widgets.text import Piece, bar, foreign, line, line_width
from console.view.health_words import ill_words, verdict_words
from console.view.run_view import RequestStage, RunView, Severity

_DAY_SECONDS = 86_400
_LEAST_BAR, _WIDEST_BAR = 6, 60
_FEWEST_LINES = 2
_HEALTHY = "✓ healthy"
_EXPLAINED = (Severity.ENDED, Severity.ATTENTION, Severity.BAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The size of the terminal in cells, and what of it the header may take."""

    width: int
    height: int

    @property
    def lines(self) -> int:
        """2 on the smallest terminals, so that the state and the step stay; else up to 9."""
        return max(_FEWEST_LINES, min(9, self.height // 2 - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How times are shown."""

    now: float
    """The wall clock, seconds."""
    is_dated: bool = False
    """As dates, not as ages and time left."""

    def was(self, t: float) -> str:
        """`7 min ago`, `Jun  4 22:40`."""
        return formatting.when(t, self.now, is_dated=self.is_dated)

    def comes_in(self, seconds: float) -> str:
        """The date of what comes."""
        return formatting.coming(self.now + seconds, self.now)


def header_lines(
    view: RunView,
    room: Room,
    times: Times,
    *,
    hint: str = "",
    n_alarms: int = 0,
    away: str = "",
) -> list[Content]:
    """State, progress, numbers, then alarms and notes as far as there is room.

    `hint` follows the state: `read-only`, what to press next. `n_alarms`: how many nobody has
    acknowledged. `away`: what happened since the operator looked last.
    """
    ill = _ill_lines(view, room.width, times) if room.lines > _FEWEST_LINES else []
    state = _state_lines(view, room.width, hint, n_alarms, is_ill_told=bool(ill))
    outlook = _outlook_lines(view, room.width)
    below = [_progress_line(view, room.width, times), _numbers_line(view, room.width, times)]
    alarms = [*_away_lines(away, room.width), *_alarm_lines(view, room.width)]
    notes = [_note_line(view, room.width)] if view.notes and room.height >= 30 else []
    warnings = [_warning_line(each, room.width) for each in view.warnings]
    shown = state + outlook + ill + warnings + below + alarms + notes
    if len(shown) > room.lines:
        # What can't wait comes first where there is no room for all.
        shown = state[:1] + ill + below[:1] + alarms + state[1:] + outlook + below[1:] + warnings
    return shown[: room.lines]


def state_content(view: RunView) -> Content:
    """The state's glyph and word in the severity's style: `● training`."""
    severity = view.status.severity
    is_block = severity in (Severity.ATTENTION, Severity.BAD)
    text = f"{GLYPHS[severity]} {foreign(view.status.word)}"
    return Content.styled(f" {text} " if is_block else text, STATE_STYLES[severity])


def _ill_lines(view: RunView, width: int, times: Times) -> list[Content]:
    """What is wrong since when, with what of it there is room for: on a line, or on two."""
    if not view.health.reasons:
        return []
    first, n_more = view.health.reasons[0], len(view.health.reasons) - 1
    more = f", and {n_more} more" if n_more else ""
    timed = foreign(ill_words(first, times.now, is_dated=times.is_dated))
    plain = foreign(f"✖ {first.words()}")
    ways = (timed + more + "   h tells", timed + more, timed, plain)
    fitting = next((way for way in ways if Content(way).cell_length <= width), plain)
    wrapped = Content.styled(fitting, RED).wrap(max(width, 1))
    return [each.truncate(width, ellipsis=True) for each in wrapped[:2]]


def _verdict(view: RunView, width: int, *, is_ill_told: bool) -> Content:
    """Quiet where the run is healthy, and where nothing is known; why, where there is room."""
    verdict, words = view.health.verdict, foreign(verdict_words(view))
    if verdict == "ill":
        return Content() if is_ill_told else Content.styled(words, RED)
    style = GOOD if words == _HEALTHY else DIM
    short = _HEALTHY if verdict == "healthy" else "? health unknown"
    return Content.styled(words if len(words) <= width else short, style)


def _state_lines(
    view: RunView, width: int, hint: str, n_alarms: int, *, is_ill_told: bool
) -> list[Content]:
    name = Content.styled(foreign(view.name), "bold")
    state = state_content(view)
    detail = foreign(view.status.detail)
    waiting = f"! {formatting.count(n_alarms, 'alarm')}" if n_alarms else ""
    room = width - state.cell_length - name.cell_length - 6
    verdict = _verdict(view, room, is_ill_told=is_ill_told)
    aside = [
        _keep(verdict, 2),
        Piece(content=Content.styled(waiting, RED), rank=3),
        Piece(content=Content.styled(foreign(hint), ACCENT), rank=4),
        Piece(content=_attempt(view), rank=9),
    ]
    if view.status.severity not in _EXPLAINED and view.state.preparing is None:
        aside.insert(1, Piece(content=Content.styled(detail, DIM), rank=8))
        return [line([_keep(name, 2), _keep(state, 1), *aside], width)]
    if len(detail) + verdict.cell_length + 3 <= room:
        pieces = [_keep(name, 2), _keep(state, 1), _keep(Content(detail), 2), *aside]
        return [line(pieces, width)]
    wrapped = Content(detail).wrap(max(width, 1))
    return [line([_keep(name, 2), _keep(state, 1), *aside], width), *wrapped[:2]]


def _outlook_lines(view: RunView, width: int) -> list[Content]:
    """A line of its own, so that a long reason can't push it off the screen."""
    if not view.status.outlook:
        return []
    text = Content.styled(foreign(view.status.outlook), ACCENT)
    return [text.truncate(width, ellipsis=True)]


def _keep(content: Content, rank: int) -> Piece:
    return Piece(content=content, rank=rank)


def _attempt(view: RunView) -> Content:
    words = [f"phase {view.phase}"]
    if view.attempt is not None and view.attempt > 1:
        words.append(f"attempt {view.attempt}")
    return Content.styled(" · ".join(words), DIM)


def _progress_line(view: RunView, width: int, times: Times) -> Content:
    total = view.total_steps
    step = formatting.steps(view.step)
    if not total:
        counted = _labelled("step", step)
        return line([Piece(content=counted, rank=0), *_replay(view), *_pace(view, times)], width)
    fraction = view.step / total
    counted = Content.assemble((step, "bold"), (f" / {formatting.steps(total)}", DIM))
    pieces = [
        Piece(content=counted, rank=0),
        Piece(content=Content(formatting.percent(fraction, 1)), rank=4),
        *_replay(view),
        *_pace(view, times),
    ]
    text = line(pieces, width)
    cells = min(width - text.cell_length - 3, _WIDEST_BAR)
    if cells < _LEAST_BAR:
        return text
    done, rest = bar(fraction, cells)
    return Content.assemble((done, ACCENT), (rest, DIM), "   ", text)


def _replay(view: RunView) -> list[Piece]:
    """Why the chart shows steps beyond this one."""
    if view.replay_end is None:
        return []
    words = formatting.replay(view.replay_end, is_running=view.is_running)
    return [Piece(content=Content.styled(words, ACCENT), rank=2)]


def _pace(view: RunView, times: Times) -> list[Piece]:
    pieces = []
    if view.steps_per_minute is not None:
        pieces.append(Piece(content=Content(formatting.rate(view.steps_per_minute)), rank=6))
    if view.eta_seconds is not None:
        left, day = formatting.duration(view.eta_seconds), times.comes_in(view.eta_seconds)
        eta = day if times.is_dated else left
        pieces.append(Piece(content=_labelled("ETA", eta), rank=3))
        if not times.is_dated:
            pieces.append(Piece(content=Content.styled(day, DIM), rank=7))
    return pieces


def _numbers_line(view: RunView, width: int, times: Times) -> Content:
    """In full where there is room, else in short, else without what matters least."""
    in_full = _numbers(view, times, is_short=False)
    if line_width(in_full) <= width:
        return line(in_full, width)
    return line(_numbers(view, times, is_short=True), width, gap=2)


def _numbers(view: RunView, times: Times, *, is_short: bool) -> list[Piece]:
    last = view.last
    loss = formatting.loss(last.loss, last.nonfinite) if last else formatting.UNKNOWN
    return [
        Piece(content=_labelled("loss", loss, RED if last and last.nonfinite else ""), rank=0),
        Piece(content=_labelled("EMA", formatting.loss(last.ema if last else None)), rank=4),
        Piece(content=_checkpoint(view, times, is_short=is_short), rank=2),
        Piece(content=_disk(view, times, is_short=is_short), rank=1 if _disk_style(view) else 3),
    ]


def _checkpoint(view: RunView, times: Times, *, is_short: bool) -> Content:
    request = view.request
    if request is not None and request.stage is RequestStage.REQUESTED:
        return Content.styled(f"◆ {foreign(request.message)}", ACCENT)
    newest = view.newest
    if newest is None:
        return Content.styled("no checkpoint yet", DIM)
    written = times.was(newest.modified)
    label = "saved" if is_short else "checkpoint"
    return _labelled(label, f"{formatting.steps(newest.step)}, {written}")


def _disk(view: RunView, times: Times, *, is_short: bool) -> Content:
    if view.free_bytes is None:
        return Content.styled("disk unknown", DIM)
    style = _disk_style(view)
    text = formatting.size(view.free_bytes) + (" free" * (not is_short))
    if view.room.is_short_of_inodes:
        text = formatting.count(view.room.free_inodes, "file") + (" free" * (not is_short))
    if view.full_in_seconds is not None:
        left, day = formatting.duration(view.full_in_seconds), times.comes_in(view.full_in_seconds)
        if times.is_dated:
            text += f", full {day}"
        else:
            text += f", {left} left" if is_short else f", full in {left}"
    return _labelled("disk", f" {text} " if style else text, style)


def _disk_style(view: RunView) -> str:
    if view.room.is_almost_full:
        return RED_BLOCK
    if view.full_in_seconds is not None and view.full_in_seconds < _DAY_SECONDS:
        return AMBER
    return ""


def _alarm_lines(view: RunView, width: int) -> list[Content]:
    most = 3
    alarms = [alarm for alarm in view.alarms if alarm not in view.judged_alarms]
    shown = alarms if len(alarms) <= most else alarms[: most - 1]
    lines = [Content.styled(f"✖ {foreign(alarm)}", RED) for alarm in shown]
    if len(shown) < len(alarms):
        lines.append(Content.styled(f"✖ and {len(alarms) - len(shown)} more alarms", RED))
    return [each.truncate(width, ellipsis=True) for each in lines]


def _warning_line(warning: str, width: int) -> Content:
    text = Content.styled(f"{GLYPHS[Severity.ATTENTION]} {foreign(warning)}", "bold")
    return text.truncate(width, ellipsis=True)


def _away_lines(away: str, width: int) -> list[Content]:
    """What happened meanwhile: longer than a small terminal is wide, so up to two lines."""
    wrapped = Content.styled(foreign(away), ACCENT).wrap(max(width, 1)) if away else []
    return [line.truncate(width, ellipsis=True) for line in wrapped[:2]]


def _note_line(view: RunView, width: int) -> Content:
    notes = " · ".join(foreign(note) for note in view.notes)
    return Content.assemble(("note ", ""), (notes, DIM)).truncate(width, ellipsis=True)


def _labelled(label: str, value: str, style: str = "") -> Content:
    return Content.assemble((f"{label} ", DIM), (value, style))

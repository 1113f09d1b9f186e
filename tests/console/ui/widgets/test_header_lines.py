"""What the header says, by view, size and time."""

from dataclasses import replace

import pytest

from console.health.verdict import Health
from console.ui.theme import AMBER, GOOD, RED, RED_BLOCK
from console.ui.widgets.header_lines import Room, Times, header_lines
from console.view.run_view import LossPoint, Request, RequestStage, RunView, Severity, Status
from tests.console import fixed_run
from trainer.rundir.preparing import Preparing
from trainer.rundir.state import Replay, State

WIDE, NARROW = Room(width=158, height=45), Room(width=78, height=24)


def text_of(view: RunView, room: Room = WIDE, now: float = fixed_run.NOW) -> str:
    return "\n".join(line.plain for line in header_lines(view, room, Times(now=now)))


def styles_of(view: RunView) -> set[str]:
    lines = header_lines(view, WIDE, Times(now=fixed_run.NOW))
    return {str(span.style) for line in lines for span in line.spans}


def view_with(word: str, detail: str, severity: Severity) -> RunView:
    status = Status(word=word, detail=detail, severity=severity)
    return replace(fixed_run.fixed_view(3), status=status)


@pytest.mark.parametrize(
    ("word", "severity", "shown"),
    [
        ("training", Severity.OK, "● training"),
        ("saving", Severity.BUSY, "◆ saving"),
        ("stopped", Severity.ENDED, "■ stopped"),
        ("stalled", Severity.ATTENTION, "▲ stalled"),
        ("failed", Severity.BAD, "✖ failed"),
    ],
)
def test_each_severity_has_a_glyph_beside_its_colour(
    word: str, severity: Severity, shown: str
) -> None:
    assert shown in text_of(view_with(word, "", severity))


def test_why_a_run_failed_stands_whole_though_it_takes_lines_of_its_own() -> None:
    why = "loss not finite at step 12,345 (arm books); last good checkpoint step 12,300"
    lines = header_lines(view_with("failed", why, Severity.BAD), NARROW, Times(now=fixed_run.NOW))
    assert " ".join(line.plain.strip() for line in lines[1:3]).startswith(why)


def test_how_far_the_sources_are_prepared_stands_whole_in_a_narrow_terminal() -> None:
    preparing = Preparing(source="web", files=2, bytes=4_000_000, bytes_per_second=1e6)
    view = replace(
        view_with("starting", preparing.words, Severity.BUSY), state=State(preparing=preparing)
    )
    lines = header_lines(view, NARROW, Times(now=fixed_run.NOW))
    assert preparing.words in [line.plain for line in lines]


def test_no_line_is_wider_than_the_terminal() -> None:
    view = replace(
        view_with("failed", "x" * 200, Severity.BAD), alarms=("a" * 300,), notes=("n" * 300,)
    )
    for width in range(1, 160):
        room = Room(width=width, height=40)
        assert all(
            line.cell_length <= width for line in header_lines(view, room, Times(now=fixed_run.NOW))
        )


def test_the_smallest_terminal_still_says_state_and_step() -> None:
    text = text_of(fixed_run.fixed_view(3), Room(width=18, height=5))
    assert "training" in text
    assert "113,942" in text
    assert len(text.splitlines()) == 2


def test_what_is_unknown_is_not_guessed() -> None:
    view = RunView(
        name="r1",
        path=fixed_run.fixed_view(1).path,
        status=Status(word="starting"),
        is_running=True,
    )
    text = text_of(view)
    assert "loss –" in text
    assert "no checkpoint yet" in text
    assert "disk unknown" in text
    assert "ETA" not in text


def test_a_loss_that_is_no_number_is_named_in_red() -> None:
    last = LossPoint(step=7, loss=None, ema=2.0, nonfinite="NaN")
    view = replace(fixed_run.fixed_view(3), last=last)
    assert "loss NaN" in text_of(view)
    assert RED in styles_of(view)


def test_the_disk_is_amber_within_a_day_and_red_under_three_checkpoints() -> None:
    view = fixed_run.fixed_view(3)
    assert not styles_of(view) & {AMBER, RED_BLOCK}
    assert AMBER in styles_of(replace(view, full_in_seconds=86_399.0))
    assert AMBER not in styles_of(replace(view, full_in_seconds=86_400.0))
    just_enough = replace(view.room, free_bytes=3 * fixed_run.CHECKPOINT_BYTES)
    too_little = replace(view.room, free_bytes=3 * fixed_run.CHECKPOINT_BYTES - 1)
    assert RED_BLOCK in styles_of(replace(view, room=too_little))
    assert RED_BLOCK not in styles_of(replace(view, room=just_enough))


def test_inodes_stand_in_place_of_the_bytes_where_they_are_used_up_first() -> None:
    view = fixed_run.fixed_view(3)
    assert "612 GB free" in text_of(replace(view, room=replace(view.room, free_inodes=10**6)))
    text = text_of(replace(view, room=replace(view.room, free_inodes=12)))
    assert "disk 12 files free" in text


def test_a_request_takes_the_place_of_the_checkpoint() -> None:
    request = Request(stage=RequestStage.REQUESTED, message="checkpoint requested")
    text = text_of(replace(fixed_run.fixed_view(3), request=request))
    assert "◆ checkpoint requested" in text
    assert "ago" not in text


@pytest.mark.parametrize("room", [WIDE, NARROW])
def test_a_step_before_the_historys_end_is_explained_while_it_trains_and_after(room: Room) -> None:
    told = State(replay=Replay(first_step=113_901, last_step=113_990, proven=42))
    view = replace(fixed_run.fixed_view(3), state=told)
    assert "113,942 / 200,000   57.0 %   proving again up to 113,990" in text_of(view, room)
    ended = replace(fixed_run.stopped_view(), state=told)
    assert "recorded up to 113,990, to be proven again" in text_of(ended, room)
    assert "up to" not in text_of(replace(view, step=113_990), room)


def test_many_alarms_are_counted_and_the_newest_numbers_stay() -> None:
    view = replace(fixed_run.fixed_view(3), alarms=tuple(f"alarm {n}" for n in range(9)))
    text = text_of(view)
    assert "✖ alarm 1" in text
    assert "✖ and 7 more alarms" in text
    assert "113,942" in text


def test_a_clock_that_was_set_back_gives_no_negative_age() -> None:
    assert "113,900, < 1 min ago" in text_of(fixed_run.fixed_view(3), now=fixed_run.NOW - 9e6)


def test_where_there_is_no_room_for_all_alarms_come_before_numbers_and_reasons() -> None:
    view = replace(view_with("failed", "x " * 60, Severity.BAD), alarms=("the loss is NaN",))
    lines = text_of(view, Room(width=38, height=10)).splitlines()
    assert len(lines) == 4
    assert "failed" in lines[0]
    assert "113,942" in lines[1]
    assert lines[2] == "✖ the loss is NaN"


def test_what_comes_after_a_crash_stands_below_the_longest_reason() -> None:
    view = view_with("failed", "RuntimeError: " + "x " * 300, Severity.BAD)
    outlook = "this console starts it again within 10 s (crash 1 of 3)"
    view = replace(view, status=replace(view.status, outlook=outlook))
    for room in (WIDE, NARROW):
        assert outlook in text_of(view, room).splitlines()


def test_the_end_is_told_with_its_day_and_with_dates_by_that_alone() -> None:
    view = fixed_run.fixed_view(3)
    aged = header_lines(view, WIDE, Times(now=fixed_run.NOW))
    dated = header_lines(view, WIDE, Times(now=fixed_run.NOW, is_dated=True))
    assert "ETA 9 d 23 h   Jun 7" in aged[1].plain
    assert "ETA Jun 7" in dated[1].plain
    assert "full in 4 d 4 h" in aged[2].plain
    assert "full Tue 01:14" in dated[2].plain


ILL = fixed_run.ill_health()


def lines_of(view: RunView, room: Room = WIDE) -> list[str]:
    return text_of(view, room).splitlines()


@pytest.mark.parametrize("room", [WIDE, NARROW])
def test_a_healthy_run_says_so_quietly_beside_its_state(room: Room) -> None:
    view = fixed_run.fixed_view(3)
    assert lines_of(view, room)[0].startswith("andrea-120m   ● training   ✓ healthy   ")
    assert "since step" not in text_of(view, room)


@pytest.mark.parametrize("room", [WIDE, NARROW])
def test_an_ill_run_says_below_its_state_and_in_red_what_is_wrong_since_when(room: Room) -> None:
    view = replace(fixed_run.fixed_view(3), health=ILL)
    told = "✖ since step ~36,200 (9 d 0 h): audit score 75 → 37, and 1 more   h tells"
    assert lines_of(view, room)[1] == told
    assert "healthy" not in text_of(view, room)
    line = header_lines(view, room, Times(now=fixed_run.NOW))[1]
    assert [str(span.style) for span in line.spans] == [RED]
    dated = header_lines(view, room, Times(now=fixed_run.NOW, is_dated=True))[1]
    assert dated.plain.startswith("✖ since step ~36,200 (May 19 20:26): audit score 75 → 37")


def test_where_it_is_narrow_the_words_that_matter_stay_whole() -> None:
    view = replace(fixed_run.fixed_view(3), health=ILL)
    for width in range(24, 80):
        text = " ".join(lines_of(view, Room(width=width, height=24))[1:3])
        assert "since step ~36,200" in text
        assert "audit score 75 → 37" in text
    (state, step) = lines_of(view, Room(width=24, height=5))
    assert "✖ ill" in state
    assert "113,942" in step


def test_the_alarms_that_the_health_raised_take_no_line_of_their_own() -> None:
    judged = {f"{each.series}: {each.words()}": each.since_step for each in ILL.reasons}
    alarms = ("disk almost full: 3 GB", *judged)
    view = replace(fixed_run.fixed_view(3), health=ILL, alarms=alarms, judged_alarms=judged)
    assert [line for line in lines_of(view) if "✖" in line][1:] == ["✖ disk almost full: 3 GB"]
    assert text_of(view).count("audit score") == 1


def test_what_is_unknown_of_the_health_is_told_with_why_as_far_as_there_is_room() -> None:
    health = Health(verdict="unknown", why_unknown="3 of 8 audits")
    view = replace(fixed_run.fixed_view(3), health=health)
    assert "? health unknown: 3 of 8 audits" in lines_of(view, NARROW)[0]
    assert "? health unknown  " in lines_of(view, Room(width=48, height=24))[0] + "  "


def test_healthy_is_no_consolation_for_a_run_that_failed() -> None:
    view = view_with("failed", "loss not finite at step 12,345", Severity.BAD)
    assert "loss not finite at step 12,345   ✓ healthy by its record" in lines_of(view)[0]
    assert GOOD not in styles_of(replace(view, notes=()))


@pytest.mark.parametrize("room", [WIDE, NARROW])
def test_a_source_seen_over_and_over_is_a_warning_below_the_verdict_and_no_ill(room: Room) -> None:
    often = "seen more than 4 times: stdlib-docs 1,177×"
    warned = replace(fixed_run.fixed_view(3), warnings=(often,))
    assert f"▲ {often}" in text_of(warned, room)
    assert "✖" not in text_of(warned, room)

"""Ranks as lines: the lost and the slowest stay in sight."""

from console.ui.widgets.rank_lines import rank_lines
from console.view.ranks import slowest
from trainer.rundir.state import RankState

EIGHT = tuple(
    RankState(rank=rank, host=f"gpu-{rank // 4}", device="H100", waited_ms=40.0)
    for rank in range(8)
)
SLOW = RankState(rank=5, host="gpu-1", device="H100", waited_ms=2.0)
WITH_SLOW = (*EIGHT[:5], SLOW, *EIGHT[6:])


def texts(ranks: tuple[RankState, ...], most: int, width: int = 120) -> list[str]:
    return [line.plain for line in rank_lines(ranks, width, most)]


def test_a_run_of_one_process_has_no_line() -> None:
    assert texts((), 4) == []


def test_each_rank_has_a_line_where_there_is_room() -> None:
    lines = texts(EIGHT, 8)
    assert len(lines) == 8
    assert lines[5].split() == ["rank", "5", "waits", "40", "ms", "a", "step", "gpu-1", "H100"]


def test_the_slowest_and_the_lost_are_shown_first() -> None:
    gone = RankState(rank=7, host="gpu-1", lost="killed by SIGKILL", lost_since=1.0)
    lines = texts((*WITH_SLOW[:7], gone), 2)
    assert "rank 5   ▲ the others wait for it" in lines[0]
    assert "rank 7  ✖ killed by SIGKILL" in lines[1]
    assert "and 6 ranks more" in lines[1] or "and 6 more" in lines[1]


def test_nobody_is_slowest_where_all_wait_alike() -> None:
    assert slowest(EIGHT) is None
    assert slowest(EIGHT[:1]) is None
    assert slowest(WITH_SLOW) == SLOW


def test_no_line_is_wider_than_the_terminal() -> None:
    for width in range(1, 100):
        for line in rank_lines(WITH_SLOW, width, 8):
            assert line.cell_length <= width

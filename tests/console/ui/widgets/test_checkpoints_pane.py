"""The list of checkpoints: lazy, ordered, named."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.content import Content

from console.ui.widgets import checkpoints
from console.ui.widgets.checkpoints import merged_rows
from tests.console import fixed_run
from tests.console.headless import Stage
from trainer.rundir.checkpoints.checkpoint import Skipped


def test_a_skipped_file_stands_where_its_number_puts_it() -> None:
    view = fixed_run.fixed_view(3)
    skipped = (
        Skipped(path=Path("step_113850.bin"), reason="size"),
        Skipped(path=Path("odd.bin"), reason="name"),
    )
    rows = merged_rows(replace(view, skipped=skipped))
    names = [row.path.name if isinstance(row, Skipped) else row.name for row in rows]
    assert names == [
        "step_113900.bin",
        "step_113850.bin",
        "step_113800.bin",
        "step_113700.bin",
        "odd.bin",
    ]


async def test_one_more_of_2000_checkpoints_makes_only_the_lines_in_sight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    make: Callable[..., Content] = checkpoints._row_content

    def recorded(*args: object) -> Content:
        made.append(1)
        return make(*args)

    view = fixed_run.fixed_view(1139)
    rows = (*view.checkpoints, *(replace(view.checkpoints[0], step=n) for n in range(1, 900)))
    view = replace(view, checkpoints=tuple(sorted(rows, key=lambda row: row.step)))
    async with Stage(view).opened(160, 45) as stage:
        await stage.pilot.press("4")
        monkeypatch.setattr(checkpoints, "_row_content", recorded)
        new = fixed_run.stopped_view().checkpoints[-1]
        await stage.becomes(replace(view, checkpoints=(*view.checkpoints, new)))
        assert "113,943" in stage.text()
        assert f"checkpoints: {len(view.checkpoints) + 1:,}" in stage.text()
    assert 0 < len(made) < 200

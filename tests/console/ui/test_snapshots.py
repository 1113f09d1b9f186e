"""Screens as pictures, compared cell by cell with those on file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.console.pictures import LARGE, SCENES, SMALL, picture_stage


@pytest.mark.parametrize("size", [LARGE, SMALL], ids=["large", "small"])
@pytest.mark.parametrize("scene", SCENES)
def test_the_screen_looks_as_it_is_on_file(
    snap_compare: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
    scene: str,
    size: tuple[int, int],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stage = picture_stage(tmp_path)

    async def arrange(pilot: Pilot[str]) -> None:
        await stage.begin(pilot)
        await SCENES[scene](stage)

    assert snap_compare(stage.app, terminal_size=size, run_before=arrange)

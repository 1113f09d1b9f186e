"""Makes the pictures in this folder from a fixed run: `python screenshots/make.py`."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tests.console.pictures import LARGE, SCENES, SMALL, picture_stage  # noqa: E402 - path first


async def make(scene: str, size: tuple[int, int]) -> None:
    """Write one picture of a scene in a terminal of this size."""
    with tempfile.TemporaryDirectory() as folder:
        stage = picture_stage(Path(folder))
        async with stage.opened(*size):
            await SCENES[scene](stage)
            svg = stage.app.export_screenshot(title="andrea-console runs/v3")
            stage.pivots.tell(None)
    target = HERE / f"{scene}-{size[0]}x{size[1]}.svg"
    target.write_text(svg, encoding="utf-8")
    print(target.name)


def main() -> None:
    # The chart draws in braille where the locale's encoding has it.
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ.pop("NO_COLOR", None)
    for scene in SCENES:
        for size in (LARGE, SMALL):
            asyncio.run(make(scene, size))


if __name__ == "__main__":
    main()

"""Makes the pictures in this folder from a fixed run: `python screenshots/make.py`.

Each is an SVG, and a PNG beside it, drawn by a browser in a font that has the characters: an SVG's
columns stand straight only where the reader has such a font.
"""

import asyncio
import math
import os
import re
import shutil
import subprocess  # noqa: TID251 - the browser that draws the PNGs
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tests.console.pictures import LARGE, SCENES, SMALL, picture_stage  # noqa: E402 - path first

FONT = "DejaVu Sans Mono"
INSTALL = "apt-get install chromium fontconfig fonts-dejavu-core pngquant"
TOOLS = ("chromium", "fc-match", "pngquant")
TOOL_SECONDS = 60.0

# Rich lays out a cell in 12.2 by 24.4 units: at this scale it has 20 by 40 pixels.
SCALE = 20 / 12.2
BROWSER = (
    "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--font-render-hinting=none",
    "--default-background-color=00000000",
    f"--force-device-scale-factor={SCALE:.9f}",
)

BRAILLE = re.compile("[\u2800-\u28ff]+")
VIEW_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
# Cells begin on whole pixels, and text stands in its cell's background. At this size the font's
# blocks and lines fill a cell and meet the next ones; the spacing makes a character 12.2 units
# wide. The font has no braille: its sister's, at this size, has its dots evenly 6.1 units apart.
STYLE = f"""
svg g[transform="translate(9, 41)"] {{ transform: translate(9.15px, 41.2px); clip-path: none; }}
svg [class$="-title"] {{ font-family: {FONT}; }}
svg [class$="-matrix"] {{ font-size: 20.81px; letter-spacing: -0.329px; }}
svg [class$="-matrix"] text {{ transform: translate(-0.2px, 2.52px); clip-path: none; }}
svg .braille {{
    font-family: DejaVu Sans; font-size: 22.06px; letter-spacing: -3.957px; baseline-shift: 0.86px;
}}
"""


class PictureError(Exception):
    """A PNG can't be made here; the message says why and what would help."""


async def make_svg(scene: str, size: tuple[int, int]) -> Path:
    """Write one picture of a scene in a terminal of this size, in cells."""
    with tempfile.TemporaryDirectory() as folder:
        stage = picture_stage(Path(folder))
        async with stage.opened(*size):
            await SCENES[scene](stage)
            svg = stage.app.export_screenshot(title="andrea-console runs/v3")
            stage.pivots.tell(None)
    target = HERE / f"{scene}-{size[0]}x{size[1]}.svg"
    target.write_text(svg, encoding="utf-8")
    print(target.name)
    return target


def make_png(source: Path) -> None:
    """Write the PNG of an SVG beside it."""
    svg = source.read_text(encoding="utf-8")
    box = VIEW_BOX.search(svg)
    assert box is not None, "Rich gives each of its SVGs a view box"
    width, height = (math.ceil(float(length)) for length in box.groups())
    style = f"{STYLE}svg {{ width: {box[1]}px; height: {box[2]}px; }}\n</style>"
    svg = BRAILLE.sub(r'<tspan class="braille">\g<0></tspan>', svg.replace("</style>", style))
    target = source.with_suffix(".png")
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder, "page.svg"), Path(folder, "shot.png")
        page.write_text(svg, encoding="utf-8")
        where = (f"--user-data-dir={folder}/profile", f"--window-size={width},{height}")
        run_tool(*BROWSER, *where, f"--screenshot={shot}", page.as_uri())
        # A terminal has few colours: with a palette the file has a third of the bytes.
        run_tool("pngquant", "--force", "--nofs", "--strip", "--output", str(target), str(shot))
    print(target.name)


def check_tools() -> None:
    """Raise `PictureError` unless all that draws a PNG is installed, the font with it."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if not missing and run_tool("fc-match", "--format=%{family}", FONT) != FONT:
        missing = [FONT]
    if missing:
        raise PictureError(f"no PNGs without {', '.join(missing)}; on Debian: {INSTALL}")


def run_tool(*command: str) -> str:
    """What a command prints; raises `PictureError` with its last words if it fails."""
    try:
        ended = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=TOOL_SECONDS
        )
    except subprocess.CalledProcessError as error:
        raise PictureError(f"{command[0]} failed: {error.stderr[-500:]}") from error
    except subprocess.TimeoutExpired as error:
        raise PictureError(f"{command[0]} took more than {TOOL_SECONDS:.0f} s") from error
    return ended.stdout


def main() -> None:
    # The chart draws in braille where the locale's encoding has it.
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ.pop("NO_COLOR", None)
    sources = [asyncio.run(make_svg(scene, size)) for scene in SCENES for size in (LARGE, SMALL)]
    try:
        check_tools()
        for source in sources:
            make_png(source)
    except PictureError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

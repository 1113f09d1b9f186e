"""Makes the pictures in this folder from a fixed run: `python screenshots/make.py`.

Each is an SVG, and a PNG beside it that looks the same wherever it is shown: drawn by Chromium in
a font that has every character but braille, whose dots are drawn as terminals do, one by one.
"""

import asyncio
import math
import os
import shutil
import subprocess  # noqa: TID251 - the browser that draws the PNGs
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tests.console.pictures import LARGE, SCENES, SMALL, picture_stage  # noqa: E402 - path first

FONT = "DejaVu Sans Mono"
# The font's styles, by what in an SVG's style sheet asks for them.
STYLES = {"font-family": "Book", "font-weight: bold": "Bold", "font-style: italic": "Oblique"}
COMMANDS = ("chromium", "fc-match", "pngquant")
INSTALL = "apt-get install chromium fontconfig fonts-dejavu-core pngquant"

# A cell in the SVG's units, as Rich lays it out, its text's baseline below its top.
CELL_WIDTH, CELL_HEIGHT, BASELINE = 12.2, 24.4, 18.5
# At this scale a cell is 20 by 40 pixels: edges fall between pixels.
SCALE = 20 / CELL_WIDTH
ORIGIN, ALIGNED_ORIGIN = "translate(9, 41)", "translate(9.15, 41.2)"
# At this size the font's box drawing and blocks fill a cell from top to bottom, and rows meet.
FONT_SIZE, FONT_BASELINE = 20.6, 19.29

NAMESPACE = "http://www.w3.org/2000/svg"
BRAILLE = range(0x2800, 0x2900)
# Column and row of a braille dot, by its bit.
DOTS = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
DOT_PITCH, DOT_RADIUS = CELL_WIDTH / 2, 2.2

BROWSER_SECONDS = 60.0
BROWSER_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--font-render-hinting=none",
    "--default-background-color=00000000",
    f"--force-device-scale-factor={SCALE:.9f}",
)


class PictureError(Exception):
    """A PNG can't be made here; the message says why and what would help."""


async def make_svg(scene: str, size: tuple[int, int]) -> Path:
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
    return target


def font_characters(style: str) -> set[str]:
    """The characters that a style of the font has; none if it isn't installed."""
    command = ["fc-match", "--format=%{family}\n%{charset}", f"{FONT}:style={style}"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    family, _, ranges = output.partition("\n")
    if family != FONT:
        return set()
    bounds = (span.partition("-") for span in ranges.split())
    return {
        chr(code)
        for first, _, last in bounds
        for code in range(int(first, 16), int(last or first, 16) + 1)
    }


def check_tools() -> None:
    """Raise `PictureError` unless all that draws a PNG is installed."""
    missing = [command for command in COMMANDS if shutil.which(command) is None]
    if "fc-match" not in missing and not font_characters("Book"):
        missing.append(FONT)
    if missing:
        raise PictureError(f"no PNGs without {', '.join(missing)}; on Debian: {INSTALL}")


def check_glyphs(svg: ET.Element, name: str) -> None:
    """Raise `PictureError` if the browser would have to take a character from another font."""
    sheet = "".join(element.text or "" for element in svg.iter(f"{{{NAMESPACE}}}style"))
    texts = (element.text or "" for element in svg.iter(f"{{{NAMESPACE}}}text"))
    drawn = {character for text in texts for character in text if ord(character) not in BRAILLE}
    for asked, style in STYLES.items():
        missing = drawn - {"\n"} - font_characters(style) if asked in sheet else set()
        if missing:
            shown = ", ".join(f"{character} (U+{ord(character):04X})" for character in missing)
            raise PictureError(f"{name}: {FONT} {style} has no {shown}")


def braille_dots(character: str, left: float, top: float, css_class: str) -> Iterator[ET.Element]:
    """The dots of a braille character whose cell begins here."""
    for bit, (column, row) in enumerate(DOTS):
        if (ord(character) - BRAILLE.start) >> bit & 1:
            centre = {
                "cx": f"{left + (column + 0.5) * DOT_PITCH:.2f}",
                "cy": f"{top + (row + 0.5) * DOT_PITCH:.2f}",
            }
            yield ET.Element("circle", {"class": css_class, "r": str(DOT_RADIUS), **centre})


def place_on_cells(run: ET.Element) -> list[ET.Element]:
    """Give each character of a run the left edge of its cell; return its braille as dots."""
    text, left = run.text or "", float(run.attrib["x"])
    if not math.isclose(len(text) * CELL_WIDTH, float(run.attrib.pop("textLength")), abs_tol=0.2):
        raise PictureError(f"a character is not one cell wide: {text!r}")
    top = float(run.attrib["y"]) - BASELINE
    lefts = [left + column * CELL_WIDTH for column in range(len(text))]
    run.set("x", " ".join(f"{x:.2f}" for x in lefts))
    run.set("y", f"{top + FONT_BASELINE:.2f}")
    run.text = "".join("\u00a0" if ord(each) in BRAILLE else each for each in text)
    return [
        dot
        for character, x in zip(text, lefts, strict=True)
        if ord(character) in BRAILLE
        for dot in braille_dots(character, x, top, run.attrib["class"])
    ]


def lay_out(svg: ET.Element) -> tuple[int, int]:
    """Put what Rich drew on whole pixels, in place; return the picture's size in SVG units."""
    width, height = (float(number) for number in svg.attrib["viewBox"].split()[2:])
    svg.set("width", f"{width}px")
    svg.set("height", f"{height}px")
    for element in list(svg.iter()):
        element.attrib.pop("clip-path", None)
        if element.get("transform") == ORIGIN:
            element.set("transform", ALIGNED_ORIGIN)
        if element.tag.endswith("}style"):
            sheet = (element.text or "").replace("font-size: 20px", f"font-size: {FONT_SIZE}px")
            element.text = sheet.replace("arial", FONT)
        if element.get("class", "").endswith("-matrix"):
            element.extend([dot for run in element for dot in place_on_cells(run)])
    return math.ceil(width), math.ceil(height)


def make_png(source: Path) -> None:
    """Write the PNG of an SVG beside it."""
    svg = ET.fromstring(source.read_text(encoding="utf-8"))
    check_glyphs(svg, source.name)
    width, height = lay_out(svg)
    target = source.with_suffix(".png")
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder, "page.svg"), Path(folder, "shot.png")
        ET.ElementTree(svg).write(page, encoding="utf-8")
        where = (f"--user-data-dir={folder}/profile", f"--window-size={width},{height}")
        run_tool("chromium", *BROWSER_FLAGS, *where, f"--screenshot={shot}", page.as_uri())
        # A terminal has few colours: with a palette the file has a third of the bytes.
        run_tool("pngquant", "--force", "--nofs", "--strip", "--output", str(target), str(shot))
    print(target.name)


def run_tool(*command: str) -> None:
    """Run a command to its end; its last words are in the `PictureError` if it fails."""
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=BROWSER_SECONDS)
    except subprocess.CalledProcessError as error:
        raise PictureError(f"{command[0]} failed: {error.stderr[-500:]}") from error
    except subprocess.TimeoutExpired as error:
        raise PictureError(f"{command[0]} took more than {BROWSER_SECONDS:.0f} s") from error


def main() -> None:
    # The chart draws in braille where the locale's encoding has it.
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ.pop("NO_COLOR", None)
    ET.register_namespace("", NAMESPACE)
    sources = [asyncio.run(make_svg(scene, size)) for scene in SCENES for size in (LARGE, SMALL)]
    try:
        check_tools()
        for source in sources:
            make_png(source)
    except PictureError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

"""Whether what would be chosen can be seen: a small terminal cuts dialogs off."""

from collections.abc import Sequence

from textual.content import Content
from textual.errors import NoWidget
from textual.widget import Widget

TOO_SMALL = "this terminal is too small to show what would be chosen: enlarge it, or Esc"


def is_seen(widget: Widget, lines: Sequence[Content], index: int) -> bool:
    """Whether line `index` of a widget that draws these lines, wrapped, is on the screen."""
    try:
        place = widget.screen.find_widget(widget)
    except NoWidget:
        return False
    width = max(widget.content_size.width, 1)
    top = place.region.y + sum(len(line.wrap(width)) for line in lines[:index])
    bottom = top + len(lines[index].wrap(width))
    seen = place.visible_region
    return seen.width == place.region.width and seen.y <= top and bottom <= seen.bottom

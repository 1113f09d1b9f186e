"""Words typed behind `/`, in the border of the pane that is searched."""

from dataclasses import dataclass

from textual import events
from textual.content import Content

from console.ui.theme import AMBER


@dataclass
class TypedSearch:
    """What is typed, and what was typed last."""

    text: str = ""
    is_typing: bool = False
    opener: str = "slash"
    """The key that begins the typing."""

    def begin(self) -> None:
        """Type anew."""
        self.text, self.is_typing = "", True

    def takes(self, event: events.Key) -> bool:
        """Whether the key was part of the typing; Enter and Esc end it.

        The opener counts at once: its binding would only be looked for when the key has bubbled up,
        after letters that were typed behind it.
        """
        if not self.is_typing and event.key != self.opener:
            return False
        event.stop()
        event.prevent_default()
        if not self.is_typing:
            self.begin()
        elif event.key == "escape":
            self.text = ""
        elif event.key == "backspace":
            self.text = self.text[:-1]
        elif event.is_printable and event.character:
            self.text += event.character
        self.is_typing = event.key not in ("escape", "enter")
        return True

    def is_in(self, text: str) -> bool:
        """Whether the text holds it; capitals count where there is one."""
        return (text if _minds_case(self.text) else text.lower()).find(self.text) >= 0


def marked(line: Content, text: str) -> Content:
    """The line with each place that holds `text` marked; capitals count where there is one."""
    if not text:
        return line
    plain = line.plain if _minds_case(text) else line.plain.lower()
    at = plain.find(text)
    while at >= 0:
        line = line.stylize(AMBER, at, at + len(text))
        at = plain.find(text, at + len(text))
    return line


def _minds_case(text: str) -> bool:
    return any(character.isupper() for character in text)

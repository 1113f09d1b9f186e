"""The app's part that lets each key have its effect before the next one is sent anywhere.

Textual sends a key to what has the focus and looks for its binding when it has bubbled up again:
of keys that come in one packet (a paste, SSH) the second reached the pane that the first had left.
"""

from collections import deque
from typing import Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.timer import Timer

_PATIENCE_SECONDS = 0.25
"""A key whose way isn't told to have ended, as in a widget that is gone, holds up no other."""


class OrderedKeysApp(App[str]):
    """Sends one key at a time."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._keys_waiting: deque[events.Key] = deque()
        """Those that wait."""
        self._key_number = 0
        """Of the key that is under way, or was last."""
        self._key_under_way: Timer | None = None

    async def on_event(self, event: events.Event) -> None:
        """Hold a key back while another is under way."""
        if not isinstance(event, events.Key) or event.is_forwarded:
            await super().on_event(event)
            return
        self._keys_waiting.append(event)
        if self._key_under_way is None:
            await self._send_next_key()

    async def _send_next_key(self) -> None:
        self._key_number += 1
        number, target = self._key_number, self.focused or self.screen
        self._key_under_way = self.set_timer(_PATIENCE_SECONDS, lambda: self._key_arrived(number))
        await super().on_event(self._keys_waiting.popleft())
        self._go_behind_key(target, number)

    def _go_behind_key(self, node: MessagePump | None, number: int) -> None:
        """Behind the key from what it was sent to up to the app: each handles it before this."""
        while node is not None and node is not self:
            above = node._parent
            if node.call_later(self._go_behind_key, above, number):
                return
            node = above
        # Behind what its binding has left for later here: a focus that moves.
        self.call_later(self.call_later, self._key_arrived, number)

    async def _key_arrived(self, number: int) -> None:
        if self._key_under_way is None or number != self._key_number:
            return
        self._key_under_way.stop()
        self._key_under_way = None
        if self._keys_waiting:
            await self._send_next_key()

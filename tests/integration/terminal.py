"""A real terminal: tmux on a socket of its own, driven as an operator would."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tiny import ROOT
from tests.waiting import comes_true

needs_tmux = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="a real terminal is played by tmux, which is not installed"
)


# Each look starts a tmux, on cores that the programs under test need.
LOOK_PAUSE_SECONDS = 0.05


class Terminal:
    """One tmux server, from here until `close`, with sessions that run a command each."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        # A server whose last session ends is on its way out, and may take the next one with it.
        self._tmux("new-session", "-d", "-s", "keeper", "cat")

    def start(self, session: str, *command: str, width: int = 120, height: int = 36) -> None:
        """A new session in a terminal of that size; it stays when the command has ended."""
        size = ["-x", str(width), "-y", str(height)]
        self._tmux("new-session", "-d", "-s", session, *size, "sh")
        line = " ".join(command)
        self._tmux("send-keys", "-t", session, f"cd {ROOT} && clear && {line}; echo ended $?")
        self._tmux("send-keys", "-t", session, "Enter")

    def console(self, session: str, run: Path, *arguments: str) -> None:
        """A console on `run`, by this Python."""
        self.start(session, sys.executable, "-m", "console", str(run), *arguments)

    def press(self, session: str, *keys: str) -> None:
        """Keys one after the other, by tmux's names."""
        self._tmux("send-keys", "-t", session, *keys)

    def paste(self, session: str, text: str, *, bracketed: bool) -> None:
        """A paste from the terminal's clipboard."""
        self._tmux("set-buffer", text)
        self._tmux("paste-buffer", "-t", session, *(["-p"] if bracketed else []))

    def kill(self, session: str) -> None:
        """What a closed window does: the session's terminal is gone at once."""
        self._tmux("kill-session", "-t", session)

    def resize(self, session: str, width: int, height: int) -> None:
        self._tmux("resize-window", "-t", session, "-x", str(width), "-y", str(height))

    def screen(self, session: str) -> str:
        """What the operator sees."""
        return self._tmux("capture-pane", "-p", "-t", session)

    def pane_pid(self, session: str) -> int:
        """The shell of the session."""
        return int(self._tmux("display-message", "-p", "-t", session, "#{pane_pid}"))

    def wait_for(self, session: str, fact: str | Callable[[str], bool], seconds: int = 90) -> str:
        """The screen on which the text, or the fact, is to be seen."""
        screen = ""

        def is_seen() -> bool:
            nonlocal screen
            screen = self.screen(session)
            return fact in screen if isinstance(fact, str) else fact(screen)

        if not comes_true(is_seen, seconds, LOOK_PAUSE_SECONDS):
            pytest.fail(f"{fact} did not come; on the screen:\n{screen}")
        return screen

    def press_until(self, session: str, key: str, fact: str) -> None:
        """The key again and again: each that comes in the quiet puts it off no longer than that."""
        for _ in range(40):
            self.press(session, key)
            if comes_true(lambda: fact in self.screen(session), 1.5, LOOK_PAUSE_SECONDS):
                return
        pytest.fail(f"{fact} did not come; on the screen:\n{self.screen(session)}")

    def close(self) -> None:
        self._tmux("kill-server", check=False)

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        command = ["tmux", "-S", str(self._socket), "-f", "/dev/null", *arguments]
        # Of this terminal, whatever that is; a console would take them for the size of its own.
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment
        )
        if check and result.returncode:
            pytest.fail(f"tmux {' '.join(arguments)}: {result.stderr}")
        return result.stdout

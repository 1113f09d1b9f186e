"""What the tests in a real terminal share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forked_ranks import Zygote, zygote
from tests.integration.terminal import Terminal


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with tempfile.TemporaryDirectory(prefix="andrea") as folder:  # a socket's path must be short
        terminal = Terminal(Path(folder) / "tmux")
        yield terminal
        terminal.close()


@pytest.fixture(scope="session")
def ranks() -> Iterator[Zygote]:
    """What forks ranks with torch loaded already; it takes seconds to load, once."""
    with zygote() as opened:
        yield opened

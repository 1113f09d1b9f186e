"""What a process of ours that loads what the console doesn't has to say: a line of JSON each."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from console.process.launch import exit_words, lines_of_module, own_environment
from trainer.rundir.outcomes import Exit, RunError

_LONGEST_LINE = 1 << 28
"""A batch with all its tokens."""


def answers_of(module: str, arguments: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Its answers; it ends when nobody reads on.

    Raises `RunError` with the exit code that fits where it tells an error, or `OSError`.
    """
    for line in lines_of_module(module, arguments):
        yield _told(line)


async def answers_soon(module: str, arguments: Sequence[str]) -> AsyncIterator[dict[str, Any]]:
    """As `answers_of`, for a screen: the process is killed where the waiting is cancelled."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", module, *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # the terminal is the screen's
        env={**os.environ, **own_environment()},
        limit=_LONGEST_LINE,
    )
    assert process.stdout is not None
    try:
        async for line in process.stdout:
            yield _told(line)
        if code := await process.wait():
            raise OSError(0, exit_words(code), module)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _told(line: bytes) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(line)
    if "error" in told:
        error = RunError(told["error"])
        error.exit_code = Exit(told["exit"])
        raise error
    return told

"""What a process of ours that loads what the console doesn't has to say: a line of JSON each."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from console.process.launch import lines_of_module
from trainer.rundir.outcomes import Exit, RunError


def answers_of(module: str, arguments: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Its answers; it ends when nobody reads on.

    Raises `RunError` with the exit code that fits where it tells an error, or `OSError`.
    """
    for line in lines_of_module(module, arguments):
        told = json.loads(line)
        if "error" in told:
            error = RunError(told["error"])
            error.exit_code = Exit(told["exit"])
            raise error
        yield told

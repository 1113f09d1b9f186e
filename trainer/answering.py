"""How a process answers that the console starts for what it doesn't load: a line of JSON each."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer.rundir.outcomes import Exit, RunError
from trainer.signals import leave_interrupts_to_parent

_GIVES_WAY = 19
"""nice(2): a trainer on the same cores comes first."""


def answer(act: Callable[[], None], run: Path) -> int:
    """Do it, and tell its error; SIGTERM ends it at once. The process's exit code."""
    leave_interrupts_to_parent()
    os.nice(_GIVES_WAY)
    try:
        act()
    except BrokenPipeError:  # nobody waits for it any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.TERMINATED
    except RunError as error:
        tell(error=str(error), exit=int(error.exit_code))
    except OSError as error:
        tell(error=f"{error.filename or run}: {error.strerror}", exit=int(Exit.ERROR))
    return 0


def tell(**what: Any) -> None:
    """Say it to whoever asked."""
    # json: names of any bytes, which orjson refuses
    print(json.dumps(what), flush=True)

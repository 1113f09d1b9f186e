"""Work that would hold the interpreter's lock for long, done in a process of its own.

`python -m console.process.child` is that process: the work comes pickled on stdin, what it returned
or raised goes pickled to stdout. multiprocessing can't be used here: it wants a stderr with a
descriptor, which Textual has replaced, or a fork, which threads forbid.
"""

import pickle
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from console.process.launch import run_module

P = ParamSpec("P")
T = TypeVar("T")


def in_child(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` returns, or raises, in a fresh process; blocks, so call it in a thread.

    All of it has to be picklable. Raises `OSError` if the process ended without an answer.
    """
    answer = run_module("console.process.child", pickle.dumps((work, args, kwargs)))
    if not answer:
        raise OSError(f"{work.__name__} ended without an answer in its process")
    is_ok, result = pickle.loads(answer)
    if not is_ok:
        raise result
    return result  # type: ignore[no-any-return]


def main() -> None:
    """Do one piece of work."""
    work, args, kwargs = pickle.load(sys.stdin.buffer)
    try:
        answer = (True, work(*args, **kwargs))
    except Exception as error:  # noqa: BLE001 - an edge: it is raised on the other side
        answer = (False, error)
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    main()

"""A child process with a limit of time and memory, and what it left: output, exit, orphans."""

import contextlib
import ctypes
import faulthandler
import os
import resource
import select
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

MEMORY_BYTES = 3 << 29
"""More address space than the fuzzer has itself; half of it is a child's peak at most."""
_FILE_BYTES = 5 << 29
_PR_SET_CHILD_SUBREAPER = 36
_PR_CAPBSET_DROP = 24
_CAPABILITY_VERSION = 0x20080522
_OVER_PERMISSIONS = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: why permissions say nothing to root."""
_LAST_WORDS_SECONDS = 0.3


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a child ended."""

    code: int | None
    """Negative: killed by that signal; None: it did not end in time."""
    seconds: float
    memory_bytes: int
    """At its peak."""
    stdout: bytes
    stderr: bytes
    is_orphan_stuck: bool = False
    """Whether something that it started did not end when it was asked to."""


def adopt_orphans() -> None:
    """What a child leaves behind becomes a child of this process."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run_limited(
    action: Callable[[], int],
    folder: Path,
    *,
    limit_seconds: float,
    stop_after_seconds: float | None = None,
    heeds_permissions: bool = False,
) -> Ended:
    """Run `action` in a forked child whose output goes into `folder`; its value is the exit code.

    A child past its limit tells on stderr where it is, and is killed. `stop_after_seconds`: then
    it gets a SIGTERM, as from an operator.
    """
    began = time.monotonic()
    others = _children()  # of whoever calls: a live trainer, the processes of a test's library
    pid = os.fork()
    if not pid:
        _become_child(action, folder, heeds_permissions=heeds_permissions)
    ends = _wait(pid, limit_seconds, stop_after_seconds)
    if not ends:
        _kill_telling_where(pid)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.monotonic() - began
    is_stuck = end_orphans(limit_seconds, but=others)
    return Ended(
        code=os.waitstatus_to_exitcode(status) if ends else None,
        seconds=seconds,
        memory_bytes=usage.ru_maxrss << 10,
        stdout=(folder / "stdout").read_bytes(),
        stderr=(folder / "stderr").read_bytes(),
        is_orphan_stuck=is_stuck,
    )


def _become_child(action: Callable[[], int], folder: Path, *, heeds_permissions: bool) -> None:
    code = 1
    try:
        _redirect(folder)
        os.setsid()
        faulthandler.register(signal.SIGUSR2, file=os.fdopen(os.dup(2), "wb"), all_threads=True)
        _limit()
        if heeds_permissions:
            _heed_permissions()
        code = action()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - as the interpreter does at a program's end
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code & 0xFF)


def _heed_permissions() -> None:
    """Be root no more as far as files go; for others nothing changes (capabilities(7))."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, and the upper halves
    libc.capget(header, sets)
    for number in _OVER_PERMISSIONS:
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
        for which in range(3):
            sets[which] &= ~(1 << number)
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")


def _redirect(folder: Path) -> None:
    """Files for stdout and stderr, by descriptor and by name, as strict as a real terminal's."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        fd = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        os.dup2(fd, number)
        os.close(fd)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    renew_streams()
    warnings.simplefilter("ignore")


def renew_streams() -> None:
    """`sys.stdout` and `sys.stderr` anew over descriptors 1 and 2."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    vars(sys).update(__stdout__=sys.stdout, __stderr__=sys.stderr)  # Textual draws on these


def _limit() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _wait(pid: int, limit_seconds: float, stop_after_seconds: float | None) -> bool:
    """Whether it ended in time; it is not reaped yet."""
    pidfd = os.pidfd_open(pid)
    try:
        if stop_after_seconds is not None:
            if _is_readable(pidfd, stop_after_seconds):
                return True
            os.kill(pid, signal.SIGTERM)
            limit_seconds -= stop_after_seconds
        return _is_readable(pidfd, limit_seconds)
    finally:
        os.close(pidfd)


def _is_readable(fd: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _kill_telling_where(pid: int) -> None:
    os.kill(pid, signal.SIGUSR2)
    time.sleep(_LAST_WORDS_SECONDS)
    os.kill(pid, signal.SIGKILL)


def end_orphans(limit_seconds: float, but: Collection[int] = ()) -> bool:
    """Ask all that is left, `but` these, to end, then kill it; whether some had to be killed."""
    deadline = time.monotonic() + limit_seconds
    is_stuck = False
    asked: set[int] = set()
    while (left := _children(but)) and not is_stuck:
        for pid in left:
            if pid not in asked:
                os.kill(pid, signal.SIGTERM)
                asked.add(pid)
        _reap(left)
        is_stuck = time.monotonic() > deadline
        time.sleep(0.005)
    while left := _children(but):
        for pid in left:
            _kill_telling_where(pid)
        _reap(left)
    return is_stuck


def _children(but: Collection[int] = ()) -> list[int]:
    me = threading.get_native_id()
    pids = map(int, Path(f"/proc/self/task/{me}/children").read_text().split())
    return [pid for pid in pids if pid not in but]


def _reap(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)

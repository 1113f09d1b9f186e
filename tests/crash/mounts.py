"""Real file systems in image files, mounted where nobody else sees them; only as root."""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.crash.fuse import mount, require
from tests.crash.recorded_disk import DISK, READY
from tests.tiny import ROOT

_NEW_MOUNTS = 0x20000
_RECURSIVE, _PRIVATE = 0x4000, 0x40000
_PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """How one is made and mounted."""

    n_bytes: int
    """Of the smallest image that it takes, with some room."""
    make: tuple[str, ...]
    options: str = "loop"


FILE_SYSTEMS = {
    "ext4": FileSystem(
        n_bytes=64 << 20,
        make=(
            *("mkfs.ext4", "-q", "-F", "-b", "4096", "-E"),
            "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
        ),
        options="loop,commit=1",
    ),
    "xfs": FileSystem(n_bytes=320 << 20, make=("mkfs.xfs", "-q", "-f", "-K")),
    "btrfs": FileSystem(
        n_bytes=160 << 20, make=("mkfs.btrfs", "-q", "-f", "-K"), options="loop,commit=1,nodiscard"
    ),
}


class UnavailableError(Exception):
    """The machine lacks what a power cut needs; in words."""


class MountRefusedError(Exception):
    """The file system does not take its own disk; its words."""


def require_what_it_takes(kind: str) -> None:
    """Raise `UnavailableError` unless file systems of this kind can be made, recorded and mounted.

    From here on this process has mounts of its own: they end with it, however it ends.
    """
    if os.geteuid():
        raise UnavailableError("power cuts need root, to mount file systems")
    for device in ("/dev/fuse", "/dev/loop-control"):
        try:
            os.close(os.open(device, os.O_RDWR))
        except OSError as error:
            raise UnavailableError(f"power cuts need {device}: {error.strerror}") from error
    for command in (FILE_SYSTEMS[kind].make[0], "mount", "umount"):
        if shutil.which(command, path=_command_path()) is None:
            raise UnavailableError(f"power cuts on {kind} need the command {command}")
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        require(libc.unshare(_NEW_MOUNTS), "mounts of its own")
        mount("none", Path("/"), "", flags=_RECURSIVE | _PRIVATE)
    except OSError as error:
        raise UnavailableError(f"power cuts need the right to mount: {error.strerror}") from error


def make_file_system(kind: str, image: Path) -> None:
    """Make an empty one in a new sparse file. Raises `OSError`."""
    with image.open("xb") as file:
        file.truncate(FILE_SYSTEMS[kind].n_bytes)
    _run(*FILE_SYSTEMS[kind].make, str(image))


def copy_image(source: Path, target: Path) -> None:
    """With holes where it is zeros: most of it is."""
    _run("cp", "--sparse=always", str(source), str(target))


@contextmanager
def mounted(kind: str, image: Path, mountpoint: Path) -> Iterator[None]:
    """The image's file system at the mountpoint, over a loop device. Raises `MountRefusedError`."""
    options = FILE_SYSTEMS[kind].options
    try:
        _run("mount", "-t", kind, "-o", options, str(image), str(mountpoint))
    except OSError as error:
        raise MountRefusedError(str(error)) from error
    try:
        yield
    except BaseException:
        _unmount_whatever_comes(mountpoint)
        raise
    _unmount(mountpoint)


@contextmanager
def recorded_disk(image: Path, mountpoint: Path, trace: Path) -> Iterator[Path]:
    """A file that is the image, whose writes and flushes are recorded; the trace is whole when
    this ends.
    """
    module = ("-m", "tests.crash.recorded_disk", str(image), str(mountpoint), str(trace))
    # in a session of its own: an interrupt must not end it while its disk is in use
    process = subprocess.Popen(
        [sys.executable, *module], cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True
    )
    with process:
        assert process.stdout is not None
        try:
            if process.stdout.readline() != READY:
                raise OSError("the recorded disk did not start")
            yield mountpoint / DISK
        except BaseException:
            _unmount_whatever_comes(mountpoint)
            process.kill()
            raise
        _unmount(mountpoint)
        if process.wait(_PATIENCE_SECONDS):
            raise OSError(f"the recorded disk ended with {process.returncode}")


def _unmount(mountpoint: Path) -> None:
    try:
        _run("umount", str(mountpoint))
    except OSError:
        _unmount_whatever_comes(mountpoint)
        raise


def _unmount_whatever_comes(mountpoint: Path) -> None:
    command = ("umount", "--lazy", "--quiet", str(mountpoint))
    subprocess.run(command, check=False, capture_output=True, env=_environment())


def _run(*command: str) -> None:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=_environment(), timeout=600
    )
    if done.returncode:
        raise OSError(f"{command[0]}: {(done.stderr or done.stdout).strip()}")


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": _command_path()}


def _command_path() -> str:
    """Where the administrator's commands are, too."""
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"

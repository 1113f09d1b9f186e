"""A systemd unit for a run's trainer: started at boot, restarted after a crash, stopped gently."""

import getpass
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import shown
from trainer.rundir.outcomes import Exit, SettingsError

_GENTLE = (Exit.TERMINATED, Exit.INTERRUPTED, Exit.HELD)
"""Ends that the operator asked for: no failure, and nothing to restart."""
_NEEDS_PERSON = (Exit.USAGE, Exit.NONFINITE, Exit.SAVE_FAILED, Exit.LOCKED, Exit.GATE)
"""Ends that another start would only repeat."""
_SLOW_DISK_BYTES_PER_SECOND = 20e6
_STEP_AND_AUDIT_SECONDS = 300


def stop_seconds(checkpoint_bytes: int) -> int:
    """How long a graceful stop may take: a step, a save on a slow disk, twice if it is tried
    again, and the audit.
    """
    return int(_STEP_AND_AUDIT_SECONDS + 2 * checkpoint_bytes / _SLOW_DISK_BYTES_PER_SECOND)


def unit_text(
    run: RunDirectory,
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    checkpoint_bytes: int,
    is_system: bool,
) -> str:
    """The unit's text. `is_system`: for /etc/systemd/system, run as the present user.

    Raises `SettingsError` for what a line of a unit can't hold.
    """
    path = run.path.absolute()
    for text in (str(path), *command, *(f"{name}={value}" for name, value in environment.items())):
        if not text.isprintable():
            raise SettingsError(f"service: a unit file can't hold {shown(text)}; rename it")
    lines = [
        "[Unit]",
        f"Description=Training run {_escaped(run.name)}",
        f"RequiresMountsFor={_quoted(str(path))}",
        "# three crashes without a pause between them are for a person",
        "StartLimitIntervalSec=30min",
        "StartLimitBurst=3",
        "",
        "[Service]",
        "Type=exec",
        f"WorkingDirectory={_escaped(str(path))}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in environment.items()),
        "ExecStart=" + " ".join(_quoted(word, in_command=True) for word in command),
        f"StandardOutput=append:{_escaped(str(run.log.absolute()))}",
        "StandardError=inherit",
        "# the trainer alone is signalled: it finishes its step, saves and ends",
        "KillMode=mixed",
        "KillSignal=SIGTERM",
        f"TimeoutStopSec={stop_seconds(checkpoint_bytes)}",
        f"SuccessExitStatus={_codes(_GENTLE)}",
        "Restart=on-failure",
        f"RestartPreventExitStatus={_codes(_NEEDS_PERSON)}",
        "RestartSec=30",
        *([f"User={getpass.getuser()}"] if is_system else []),
        "",
        "[Install]",
        f"WantedBy={'multi-user.target' if is_system else 'default.target'}",
    ]
    return "\n".join(lines) + "\n"


def unit_name(run: RunDirectory) -> str:
    """A name for the unit's file, of the characters that systemd takes."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "_" for c in run.name)
    return f"andrea-{safe}.service"


def unit_path(run: RunDirectory, *, is_system: bool) -> Path:
    """Where the unit goes."""
    user = Path("~/.config/systemd/user")
    return (Path("/etc/systemd/system") if is_system else user) / unit_name(run)


def linger_words(*, root: Path = Path("/")) -> str:
    """What a unit of the user's manager needs so as to outlive the login, as things stand here."""
    user = getpass.getuser()
    enable = f"loginctl enable-linger {shlex.quote(user)}"
    if not (root / "run/systemd/system").is_dir():
        return f"where it is to run, first: {enable}; without that it ends when {user} logs out"
    if (root / "var/lib/systemd/linger" / user).exists():
        return f"{user} lingers: it starts at boot, and goes on after the logout"
    ends = "it would end at the logout, and not start at boot"
    return f"{user} does not linger: {ends}; first: {enable}"


def _codes(codes: Sequence[Exit]) -> str:
    return " ".join(str(int(code)) for code in codes)


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(text: str, *, in_command: bool = False) -> str:
    """A word of a unit file (systemd.syntax, systemd.service): in a command `$` is special too."""
    text = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text.replace("$", "$$") if in_command else text}"'

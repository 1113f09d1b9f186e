"""`andrea-console service`: a systemd unit that trains the run, on stdout."""

import argparse

from console.operations import systemd_unit as service
from console.process.launch import own_command, own_environment
from console.verbs.verb import Verb, say
from trainer.rundir.checkpoints.checkpoint import checkpoint_bytes
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError


def print_service(run: RunDirectory, arguments: argparse.Namespace) -> int:
    """Print the unit on stdout, and on stderr what to do with it."""
    settings = load_settings(run.settings)
    if settings.trainer.command:
        raise SettingsError("service: trainer.command is not andrea-trainer; write its own unit")
    text = service.unit_text(
        run,
        own_command(run),
        own_environment(),
        checkpoint_bytes=checkpoint_bytes(settings.model.n_params),
        is_system=arguments.system,
    )
    print(text, end="")
    path = service.unit_path(run, is_system=arguments.system)
    systemctl = "systemctl" if arguments.system else "systemctl --user"
    say(
        f"write it to {path}, then: {systemctl} daemon-reload; {systemctl} enable --now {path.name}"
    )
    if not arguments.system:
        say(service.linger_words())
    if settings.trainer.restart:
        say(
            f"set trainer.restart = false in {run.settings}: with this unit it is systemd that"
            " starts a crashed trainer again, and the console would do it too"
        )
    return 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--user", action="store_true", help="of the user's manager (the default)")
    whose.add_argument("--system", action="store_true", help="of the system, for the present user")


SERVICE = Verb(
    name="service",
    act=print_service,
    add_arguments=_add_arguments,
)

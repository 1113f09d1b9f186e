"""Which rank this process is, and where it meets the others: by its environment."""

from collections.abc import Mapping
from dataclasses import dataclass

from trainer.rundir.outcomes import SettingsError

LEADER_VARIABLE = "ANDREA_LEADER"
"""Where rank 0 listens, host:port, for the ranks that it has started itself."""

_TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
_SLURM = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID")
"""Of a step that srun started: a batch script that starts none has no number of tasks of a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """This process among those that something has started: torchrun, srun, or rank 0."""

    rank: int = 0
    size: int = 1
    local: int = 0
    """Number among the ranks of this machine."""
    host: str = ""
    port: int = 0
    """Where rank 0 is met; of a size over 1."""
    is_child: bool = False
    """Rank 0 has started it, and listens already."""
    meets_in_store: bool = False
    """torchrun's own store listens there: rank 0 leaves its address in it."""
    attempt: str = "0"
    """torchrun's: its store still has what the attempt before left there."""

    @property
    def follows(self) -> bool:
        return self.rank > 0


def where_am_i(environment: Mapping[str, str]) -> Where:
    """Alone, where nothing says otherwise. Raises `SettingsError`."""
    is_child = LEADER_VARIABLE in environment
    for names in (_TORCHRUN, _SLURM):
        if names[0] in environment and names[1] in environment:
            rank, size = (_number(environment, name) for name in names[:2])
            if size < 2:
                continue
            local = _number(environment, names[2]) if names[2] in environment else rank
            host, port = _meeting(environment)
            return Where(
                rank=rank,
                size=size,
                local=local,
                host=host,
                port=port,
                is_child=is_child,
                meets_in_store=not is_child and "TORCHELASTIC_RUN_ID" in environment,
                attempt=environment.get("TORCHELASTIC_RESTART_COUNT", "0"),
            )
    return Where()


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment[name]
    if not (text.isascii() and text.isdigit()):
        raise SettingsError(f"{name}: {text!r} is not a whole number")
    return int(text)


def _meeting(environment: Mapping[str, str]) -> tuple[str, int]:
    if leader := environment.get(LEADER_VARIABLE):
        host, _, port = leader.rpartition(":")
        return host, int(port)
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if not environment.get(name)]
    if missing:
        raise SettingsError(
            f"{' and '.join(missing)}: not set; several ranks were started, and have to know on"
            " which machine rank 0 is, and a port that is free there (docs/scale.md)"
        )
    return environment["MASTER_ADDR"], _number(environment, "MASTER_PORT")

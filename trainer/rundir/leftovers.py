"""What a killed trainer leaves half written, for the next one to clear away."""

import re

from trainer.rundir.layout import RunDirectory

_TRAINERS_OWN = re.compile(r"\.(checkpoint|(state|loss|samples|tokenizer)\.json\S*)\.partial")


def remove_leftovers(run: RunDirectory) -> list[str]:
    """Unlink the temporary files that only a trainer makes; their names.

    For the holder of the lock: none of them can be in use. Raises `OSError`.
    """
    names = [path.name for path in run.path.iterdir() if _TRAINERS_OWN.fullmatch(path.name)]
    for name in sorted(names):
        (run.path / name).unlink()
    return sorted(names)

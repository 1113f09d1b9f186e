"""What a run's steps depend on besides its weights, as its audits tell.

The audits outlive `.state.json`, and are kept through pivots.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from trainer.rundir.checkpoints.checkpoint import INT32_MAX
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import shown
from trainer.rundir.outcomes import HistoryError, TokenizerError
from trainer.rundir.reading import read_file
from trainer.rundir.records.record_file import load_records
from trainer.rundir.records.record_lines import Record
from trainer.rundir.sources.prepared import read_indexes
from trainer.rundir.state import State, tolerant

TEXT_OF = "text of "
"""Before a source's name, in the environment that `.state.json` tells."""


_PUT_BACK = (
    "put the file back (from a backup, or a fork of this run): other token ids would be noise to"
    " weights that have learned these"
)


def lost_tokenizer(path: Path) -> str:
    """What is said of a lost one that the sources don't give again."""
    return f"{shown(path)}: is gone, and its sources don't give the same again: {_PUT_BACK}"


def require_tokenizer(path: Path, sha256: str, wanted: str) -> None:
    """Raise `TokenizerError` for another one than a history was trained with; any if empty."""
    if wanted and sha256 != wanted:
        raise TokenizerError(
            f"{shown(path)}: is not the one that this run was trained with (sha256"
            f" {sha256} instead of {wanted}); {_PUT_BACK}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """`environment` of a sample record; empty is unknown: an earlier version told less."""

    tokenizer: str = ""
    """sha256 of `tokenizer.json`."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The first digits of the fingerprint of each source's text, as it was prepared."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """A digest of each section of the settings that alter a run."""


def recorded_environment(
    run: RunDirectory, before: State | None, phase: int | None = None
) -> Environment:
    """What is known of a phase: by its newest audit, else by the state `before`.

    `phase`: `None` is the one under way.

    The tokenizer is that of all phases, and known by the tokens that were made with it, too. Of a
    fork, the settings of its own audits only: it may have begun with others than its parent's.
    """
    phase, forked_at = phase or run.current_phase(), _forked_at(run)
    audits = [(audit, _told(audit)) for audit in _newest_first(run)]
    here = [(audit, told) for audit, told in audits if audit.get("phase") == phase]
    own = [told for audit, told in here if _step(audit) > forked_at]
    state = before.environment if before else {}
    texts = {
        name.removeprefix(TEXT_OF): str(digits)
        for name, digits in (state.items() if before and before.phase == phase else ())
        if name.startswith(TEXT_OF)
    }
    return Environment(
        tokenizer=next((told.tokenizer for _, told in audits if told.tokenizer), "")
        or str(state.get("tokenizer", ""))
        or _tokenizer_of_tokens(run),
        texts=next((told.texts for _, told in here if told.texts), texts),
        settings=next((told.settings for told in own if told.settings), {}),
    )


def _newest_first(run: RunDirectory) -> Iterator[Record]:
    """All audits that can be read; what can't is told by who writes and verifies them."""
    archived = (folder / run.samples.name for _, folder in reversed(run.archived_phases()))
    for path in (run.samples, *archived):
        with suppress(OSError, HistoryError):
            yield from reversed(load_records(path).records)


def _told(audit: Record) -> Environment:
    written = audit.get("environment")
    return tolerant(Environment, written) if isinstance(written, dict) else Environment()


def _step(audit: Record) -> int:
    step = audit.get("step")
    return step if isinstance(step, int) else 0


def _tokenizer_of_tokens(run: RunDirectory) -> str:
    found = {index.tokenizer for _, index in read_indexes(run.tokens)}
    return found.pop() if len(found) == 1 else ""


def _forked_at(run: RunDirectory) -> int:
    """The step up to which the audits are a parent's; 0: the run is no fork."""
    try:
        return int(orjson.loads(read_file(run.fork))["step"])
    except FileNotFoundError:
        return 0
    except (OSError, ValueError, KeyError, TypeError):  # `verify` tells of it
        return INT32_MAX

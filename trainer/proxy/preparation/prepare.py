"""Prepare a source: its text is read once, and becomes tokens that last."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from trainer.proxy.held_out import BY_HASH, DocumentCount, PieceCount, Sides, new_count
from trainer.proxy.preparation.encoding import Encoded, Encoder
from trainer.proxy.preparation.meter import Reached, extent_of, meter_of
from trainer.proxy.preparation.parts import Parts
from trainer.proxy.preparation.units import UNIT_BYTES, Tokens, Unit, units_of
from trainer.proxy.preparation.workers import available_cores, encode_units
from trainer.proxy.progress import Progress
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.documents import SourceFiles, look_at_files
from trainer.rundir.sources.left_out import LeftOut, Odd
from trainer.rundir.sources.prepared import TokenIndex
from trainer.rundir.sources.text_rules import TextRules

_TRIES = 3
"""Of reading files that change meanwhile."""

_WORTH_PROCESSES_BYTES = 4 * UNIT_BYTES
"""Of text: for less, starting them takes longer than the work."""

_PROVEN_DOCUMENTS = 64
_PROVEN_CHARACTERS = 2_000
"""Of each: in all less than a tenth of a second for the slower encoder."""

_JOURNAL = 2
"""Of what is told of a unit; what another version was about to prepare is begun anew."""


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """One source of a run, to be prepared under `folder`."""

    name: str
    source: SourceSettings
    base: Path
    folder: Path
    rules: TextRules
    is_checked: bool
    tokenizer: TextTokenizer
    dtype: str
    progress: Progress
    wanted: str = ""
    """The fingerprint that the text must have, or its first digits."""
    n_workers: int = 0
    """Processes; 0: as many as there are cores, where that is worth it."""

    def run(self) -> tuple[TokenIndex, SourceFiles]:
        """Encode it; what a run that was stopped has done is not done again.

        Raises:
            SourceError: no text, not the text that is wanted, or other text each time.
            OSError: it can't be written.
        """
        for _ in range(_TRIES):
            files = look_at_files(self.source, self.base, self._check)
            sides = Sides(BY_HASH, self.rules.piece_characters > 0)
            index = self._encode(files, sides)
            if index is not None:
                return index, files
        raise SourceError(
            f"{self.source.path}: changed each time it was read; start again when it is written"
        )

    def _check(self) -> None:
        self.progress(0.0, f"reading {self.name}")

    def _check_done(self) -> None:
        self.progress(1.0, f"encoding {self.name}")

    def _encode(self, files: SourceFiles, sides: Sides) -> TokenIndex | None:
        """`None`: the files have changed meanwhile."""
        encoder = Encoder(
            tokenizer=self.tokenizer,
            dtype=self.dtype,
            piece_characters=self.rules.piece_characters,
            sides=sides,
        )
        with Parts(self.folder, self._key(files, sides)) as parts:
            known = self._go_on(parts, encoder, files)
            if look_at_files(self.source, self.base, self._check_done).stamp != files.stamp:
                parts.drop()
                return None
            if not parts.documents:
                parts.drop()
                raise SourceError(f"{self.source.path}: there is no text in it")
            known.left_out.require_few()
            held_out_documents, bound = known.count.settle(parts.documents, known.text_bytes)
            if sides.bound != BY_HASH or known.count.divides_as(bound):
                return self._finished(parts, known, held_out_documents)
        # a small source of which too much, or nothing, was held out
        return self._encode(files, replace(sides, bound=bound))

    def _go_on(self, parts: Parts, encoder: Encoder, files: SourceFiles) -> "_Known":
        known = _Known(new_count(self.rules.piece_characters), LeftOut(self.source.max_odd_share))
        for told in parts.units:
            known.add(told)
        whole = extent_of(files)
        total = whole.bytes
        meter = meter_of(self.progress)
        meter.begin(self.name, whole, known.reached)

        def tell() -> None:
            share = min(1.0, known.text_bytes / total) if total else 0.0
            self.progress(share, f"encoding {self.name}")

        units = units_of(
            self.source,
            self.base,
            self.rules,
            known.left_out,
            check=tell,
            is_checked=self.is_checked,
        )
        rest = islice(self._proven(units), len(parts.units), None)
        for unit, encoded in encode_units(encoder, rest, self._workers(total), tell):
            told = _told(unit, encoded)
            parts.append(encoded, told)
            known.add(told)
            meter.reach(self.name, known.reached)
            tell()
        meter.reach(self.name, whole)
        self._check_done()
        return known

    def _proven(self, units: Iterator[Unit]) -> Iterator[Unit]:
        """They, once the tokenizer has proved itself on a sample of the first one."""
        for unit in islice(units, 1):
            if not isinstance(unit, Tokens):
                documents = islice(unit.read(LeftOut(1.0)), _PROVEN_DOCUMENTS)
                self.tokenizer.prove([document[:_PROVEN_CHARACTERS] for document in documents])
            yield unit
        yield from units

    def _workers(self, total_bytes: int) -> int:
        is_worth_it = total_bytes >= _WORTH_PROCESSES_BYTES
        return self.n_workers or (available_cores() if is_worth_it else 1)

    def _finished(self, parts: Parts, known: "_Known", held_out_documents: int) -> TokenIndex:
        fingerprint = parts.fingerprint()
        if not fingerprint.startswith(self.wanted):
            parts.drop()
            raise SourceError(
                f"{self.source.path}: is not the text that was trained on, and the tokens of"
                f" that ({shown(self.folder)}) are gone: put either back, or go on with this text"
                " by a pivot"
            )
        item_bytes = int(self.dtype[2:])
        index = TokenIndex(
            stamp="",
            tokenizer=self.tokenizer.sha256,
            dtype=self.dtype,
            fingerprint=fingerprint,
            documents=parts.documents,
            held_out_documents=held_out_documents,
            train_tokens=parts.sizes["train"] // item_bytes,
            held_out_tokens=parts.sizes["held_out"] // item_bytes,
            text_bytes=0 if self.source.holds_tokens else known.text_bytes,
            left_out=known.left_out.words,
        )
        parts.finish(*index.file_names)
        return index

    def _key(self, files: SourceFiles, sides: Sides) -> str:
        """Of all that decides which bytes come out, and in which units."""
        decides = (
            self.tokenizer.sha256,
            self.dtype,
            asdict(self.rules),
            asdict(self.source),
            files.stamp,
            sides.bound.hex(),
            UNIT_BYTES,
            _JOURNAL,
        )
        return hashlib.sha256(json.dumps(decides).encode()).hexdigest()


@dataclass(slots=True)
class _Known:
    """Of a source, from its units so far."""

    count: DocumentCount | PieceCount
    left_out: LeftOut
    text_bytes: int = 0
    reached: Reached = field(default_factory=Reached)
    rows: Counter[str] = field(default_factory=Counter)
    """Of each file that is read in pieces."""

    def add(self, told: dict[str, Any]) -> None:
        self.count.merge(told["counted"])
        self.text_bytes += told["text_bytes"]
        self.reached = Reached(*told["reached"])
        part, place = _left_out(told["left_out"]), told["place"]
        self.left_out.add(part, rows_before=self.rows[place])
        self.rows[place] += part.rows


def _told(unit: Unit, encoded: Encoded) -> dict[str, Any]:
    return {
        "place": unit.place,
        "text_bytes": encoded.text_bytes,
        "reached": astuple(unit.reached),
        "counted": encoded.counted,
        "left_out": asdict(encoded.left_out),
    }


def _left_out(told: dict[str, Any]) -> LeftOut:
    return LeftOut(**{**told, "odd": [Odd(**odd) for odd in told["odd"]]})

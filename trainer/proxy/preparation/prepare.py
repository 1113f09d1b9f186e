"""Prepare a source: its text is read once, and becomes tokens that last."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from trainer.proxy.held_out import ALL, BY_HASH, DocumentCount, PieceCount, Sides, new_count
from trainer.proxy.held_out_pieces import Kept, OrderedPieces
from trainer.proxy.preparation.encoding import Encoded, Encoder
from trainer.proxy.preparation.meter import Reached, extent_of, meter_of
from trainer.proxy.preparation.parts import Parts
from trainer.proxy.preparation.shares import (
    Share,
    done_shares,
    end_share,
    is_done,
    left_out_of,
    missing_shares,
    remove_shares,
    units_of_shares,
)
from trainer.proxy.preparation.units import UNIT_BYTES, Tokens, Unit, read_unit, units_of
from trainer.proxy.preparation.workers import available_cores, encode_units
from trainer.proxy.progress import Progress
from trainer.proxy.tokenizer import TextTokenizer
from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.names import shown
from trainer.rundir.outcomes import SaveError, SourceError
from trainer.rundir.sources.documents import SourceFiles, look_at_files
from trainer.rundir.sources.left_out import LeftOut, left_out_from
from trainer.rundir.sources.prepared import TokenIndex
from trainer.rundir.sources.text_rules import TextRules

_TRIES = 3
"""Of reading files that change meanwhile."""

_WORTH_PROCESSES_BYTES = 4 * UNIT_BYTES
"""Of text: for less, starting them takes longer than the work."""

_PROVEN_DOCUMENTS = 64
_PROVEN_CHARACTERS = 2_000
"""Of each: in all less than a tenth of a second for the slower encoder."""

_JOURNAL = 4
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
            SaveError: the tokens won't fit on the disk.
            OSError: it can't be written.
        """
        for _ in range(_TRIES):
            files = look_at_files(self.source, self.base, self._check)
            index = self._encode(files, self._sides)
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
        encoder, key = self._encoder_and_key(files, sides)
        with Parts(self.folder, key) as parts:
            if shares := done_shares(self.folder, key):
                known = self._join(parts, shares, key)
            else:
                known = self._go_on(parts, encoder, files)
            if look_at_files(self.source, self.base, self._check_done).stamp != files.stamp:
                parts.drop()
                return None
            if not parts.documents:
                parts.drop()
                raise SourceError(f"{self.source.path}: there is no text in it")
            known.left_out.require_few()
            if isinstance(known.count, OrderedPieces):
                return self._finished(parts, known)
            held_out_documents, bound = known.count.settle(parts.documents, known.text_bytes)
            if sides.bound != BY_HASH or known.count.divides_as(bound):
                return self._finished(parts, known, held_out_documents)
        # a small source of which too much, or nothing, was held out
        return self._encode(files, replace(sides, bound=bound))

    def run_share(self, share: Share) -> None:
        """Encode the units of a share, for `run` to take when all are done; as `run` raises."""
        folder = share.folder(self.folder)
        for _ in range(_TRIES):
            files = look_at_files(self.source, self.base, self._check)
            encoder, key = self._encoder_and_key(files, self._sides)
            if is_done(folder, key):
                return
            left_out = LeftOut(self.source.max_odd_share)
            with Parts(folder, key) as parts:
                units = self._proven(self._units(left_out, self._check))
                n_bytes = extent_of(files).bytes // share.of
                # to the end, also where nothing is left to do: what is left out is known by that
                start = share.number - 1 + share.of * len(parts.units)
                mine = islice(units, start, None, share.of)
                n_workers = self._workers(n_bytes)
                for unit, encoded in encode_units(encoder, mine, n_workers, self._check):
                    parts.append(encoded, _told(unit, encoded), 0)
                if look_at_files(self.source, self.base, self._check).stamp != files.stamp:
                    parts.drop()
                    continue
            end_share(folder, key, left_out)
            return
        raise SourceError(f"{self.source.path}: changed each time it was read")

    def missing(self, of: int) -> list[int]:
        """The numbers of the shares, of so many, that are not done."""
        files = look_at_files(self.source, self.base, self._check)
        return missing_shares(self.folder, of, self._encoder_and_key(files, self._sides)[1])

    @property
    def _sides(self) -> Sides:
        """At first; where that is too much or nothing, `_encode` goes by others."""
        is_apart = self.rules.held_out_tokens > 0
        if self.rules.is_test:
            return Sides(ALL, by_pieces=False)
        return Sides(BY_HASH, self.rules.piece_characters > 0, is_apart)

    def _nothing_known(self) -> "_Known":
        is_apart = self.rules.held_out_tokens > 0
        count = OrderedPieces() if is_apart else new_count(self.rules.piece_characters)
        return _Known(count, LeftOut(self.source.max_odd_share))

    def _encoder_and_key(self, files: SourceFiles, sides: Sides) -> tuple[Encoder, str]:
        encoder = Encoder(
            tokenizer=self.tokenizer,
            dtype=self.dtype,
            piece_characters=self.rules.piece_characters,
            sides=sides,
            apart=tuple(self.base / name for name in self.rules.apart),
        )
        return encoder, self._key(files, sides)

    def _join(self, parts: Parts, shares: list[Path], key: str) -> "_Known":
        known = self._nothing_known()
        for told in parts.units:
            known.add(told)
        for told, unit in units_of_shares(shares, key, len(parts.units)):
            parts.append(unit, told, known.rows[told["place"]] if told["place"] else 0)
            known.add(told)
            self._check_done()
        known.left_out.add(left_out_of(shares[0], key))
        return known

    def _units(self, left_out: LeftOut, check: Callable[[], None]) -> Iterator[Unit]:
        return units_of(
            self.source,
            self.base,
            self.rules,
            left_out,
            check=check,
            is_checked=self.is_checked,
        )

    def _go_on(self, parts: Parts, encoder: Encoder, files: SourceFiles) -> "_Known":
        known = self._nothing_known()
        for told in parts.units:
            known.add(told)
        whole = extent_of(files)
        total = whole.bytes
        meter = meter_of(self.progress)
        meter.begin(self.name, whole, known.reached)

        def tell() -> None:
            share = min(1.0, known.text_bytes / total) if total else 0.0
            self.progress(share, f"encoding {self.name}")

        units = self._proven(self._units(known.left_out, tell))
        rest = islice(units, len(parts.units), None)
        is_room_known = False
        for unit, encoded in encode_units(encoder, rest, self._workers(total), tell):
            told = _told(unit, encoded)
            parts.append(encoded, told, known.rows[unit.place] if unit.place else 0)
            known.add(told)
            meter.reach(self.name, known.reached)
            tell()
            if not is_room_known and known.reached.bytes:
                self._require_room(parts, known.reached.bytes, whole.bytes)
                is_room_known = True
        meter.reach(self.name, whole)
        self._check_done()
        return known

    def _require_room(self, parts: Parts, done_bytes: int, all_bytes: int) -> None:
        """Raise `SaveError` at the first unit, and not after hours, where the rest won't fit."""
        disk = os.statvfs(self.folder)
        free = disk.f_bavail * disk.f_frsize
        needed = sum(parts.sizes.values()) * (all_bytes - done_bytes) // done_bytes
        if needed > free:
            raise SaveError(
                f"{shown(self.folder)}: the tokens of {self.source.path} will take about"
                f" {needed:,} bytes more, and {free:,} are free: make room, or have tokens/ be a"
                " link to a folder on another disk, then start again; what is prepared stays"
            )

    def _proven(self, units: Iterator[Unit]) -> Iterator[Unit]:
        """They, once the tokenizer has proved itself on a sample of the first one."""
        for unit in islice(units, 1):
            if not isinstance(unit, Tokens):
                documents = islice(read_unit(unit, LeftOut(1.0)), _PROVEN_DOCUMENTS)
                self.tokenizer.prove([text[:_PROVEN_CHARACTERS] for _, text in documents])
            yield unit
        yield from units

    def _workers(self, total_bytes: int) -> int:
        is_worth_it = total_bytes >= _WORTH_PROCESSES_BYTES
        return self.n_workers or (available_cores() if is_worth_it else 1)

    def _bound(self, parts: Parts, pieces: OrderedPieces) -> Kept:
        """Of what is held out by hash, as much as the rules let a source have."""
        item_bytes = int(self.dtype[2:])
        train_tokens = parts.sizes["train"] // item_bytes
        kept = pieces.settle(self.rules.held_out_tokens, train_tokens, parts.dropped)
        if kept.set_aside:
            parts.keep_held_out((a * item_bytes, b * item_bytes) for a, b in kept.spans())
        return kept

    def _finished(self, parts: Parts, known: "_Known", held_out_documents: int = 0) -> TokenIndex:
        fingerprint = parts.fingerprint()
        if not fingerprint.startswith(self.wanted):
            parts.drop()
            raise SourceError(
                f"{self.source.path}: is not the text that was trained on, and the tokens of"
                f" that ({shown(self.folder)}) are gone: put either back, or go on with this text"
                " by a pivot"
            )
        duplicates = parts.find_duplicates(self._check_done, drops=self.rules.drops_duplicates)
        item_bytes = int(self.dtype[2:])
        text_bytes = known.text_bytes
        if self.rules.drops_duplicates:
            held_out_documents, text_bytes = parts.held_out_documents(), parts.text_bytes()
        if self.rules.is_test:
            held_out_documents = parts.documents
        set_aside = 0
        if isinstance(known.count, OrderedPieces):
            kept = self._bound(parts, known.count)
            held_out_documents, set_aside = kept.documents, kept.set_aside
        index = TokenIndex(
            stamp="",
            tokenizer=self.tokenizer.sha256,
            dtype=self.dtype,
            fingerprint=fingerprint,
            documents=parts.documents,
            held_out_documents=held_out_documents,
            train_tokens=parts.sizes["train"] // item_bytes,
            held_out_tokens=parts.sizes["held_out"] // item_bytes,
            text_bytes=0 if self.source.holds_tokens else text_bytes,
            left_out=known.left_out.words,
            set_aside_tokens=set_aside,
            duplicates=duplicates,
            drops_duplicates=self.rules.drops_duplicates,
            apart=self.rules.apart_digest,
            apart_pieces=known.apart[0],
            apart_documents=known.apart[1],
            apart_bytes=known.apart[2],
        )
        parts.finish(*index.file_names, index.origins_name, item_bytes)
        remove_shares(self.folder)
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

    count: DocumentCount | PieceCount | OrderedPieces
    left_out: LeftOut
    text_bytes: int = 0
    reached: Reached = field(default_factory=Reached)
    apart: list[int] = field(default_factory=lambda: [0, 0, 0])
    """As `Encoded.apart`."""
    rows: Counter[str] = field(default_factory=Counter)
    """Of each file that is read in pieces."""

    def add(self, told: dict[str, Any]) -> None:
        self.count.merge(told["counted"])
        self.text_bytes += told["text_bytes"]
        self.apart = [a + b for a, b in zip(self.apart, told["apart"], strict=True)]
        self.reached = Reached(*told["reached"])
        part, place = left_out_from(told["left_out"]), told["place"]
        self.left_out.add(part, rows_before=self.rows[place])
        self.rows[place] += part.rows


def _told(unit: Unit, encoded: Encoded) -> dict[str, Any]:
    return {
        "place": unit.place,
        "text_bytes": encoded.text_bytes,
        "reached": astuple(unit.reached),
        "counted": encoded.counted,
        "apart": encoded.apart,
        "left_out": asdict(encoded.left_out),
    }

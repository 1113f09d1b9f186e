"""Files of tokens, as nanoGPT, llm.c and Megatron lay them out, by hand."""

import struct
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path


def write_nanogpt(path: Path, tokens: Sequence[int]) -> Path:
    """Nothing but uint16."""
    path.write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
    return path


def write_llm_c(path: Path, tokens: Sequence[int], *, is_wide: bool = False) -> Path:
    """A header of 256 int32: magic, version, count; then uint16, or uint32 of a wide vocabulary."""
    magic, version, kind = (20240801, 7, "I") if is_wide else (20240520, 1, "H")
    header = struct.pack("<256i", magic, version, len(tokens), *[0] * 253)
    path.write_bytes(header + struct.pack(f"<{len(tokens)}{kind}", *tokens))
    return path


def write_megatron(
    path: Path, documents: Sequence[Sequence[Sequence[int]]], *, code: int = 8
) -> Path:
    """Documents of sequences; `code` 8 is uint16, 4 int32. The index lies beside it."""
    kind, item_bytes = {8: ("H", 2), 4: ("i", 4)}[code]
    sequences = [sequence for document in documents for sequence in document]
    path.write_bytes(b"".join(struct.pack(f"<{len(s)}{kind}", *s) for s in sequences))
    sizes = [len(sequence) for sequence in sequences]
    pointers = [0, *accumulate(size * item_bytes for size in sizes)][:-1]
    ends = [0, *accumulate(len(document) for document in documents)]
    path.with_suffix(".idx").write_bytes(
        b"MMIDIDX\0\0"
        + struct.pack("<QBQQ", 1, code, len(sizes), len(ends))
        + struct.pack(f"<{len(sizes)}i", *sizes)
        + struct.pack(f"<{len(pointers)}q", *pointers)
        + struct.pack(f"<{len(ends)}q", *ends)
    )
    return path

"""Rules of arithmetic and data by number: a run keeps those that it began with, bit for bit.

`rules = N` in `run.toml` is written when the run is made. A file without it is of the time before
the numbers: rules 1. What an entry here says never changes; what should be otherwise gets a new
number.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What goes by the number."""

    holds_out_pieces: bool
    """Text is held out by pieces of about a row, a piece by its text alone, so that a text that is
    held out of one source is trained on in none; else by whole documents, in each source anew."""
    sums_norm_by_blocks: bool
    """The gradient norm is summed by blocks in float64; else in torch's one sum in float32."""
    corrects_ema: bool
    """The loss EMA in the records is bias-corrected; else the first loss has the weight of all
    that might have been before it."""
    reads_json_arrays: bool
    """A JSON array of objects in a `.json` file gives their texts; else it is a text file."""
    refuses_web_archives: bool
    """WARC and WET files are refused; else they are text, with the headers of each page."""
    orders_by_number: bool
    """The order of a pass over 2**20 rows or more is a keyed permutation, worked out row by row;
    else an array of them all, from numpy's legacy generator."""
    bounds_held_out: bool
    """Of a source at most `data.held_out_tokens` are held out, and each piece of them stands by
    itself; else 1 % of its text however large, and neighbours are one stretch."""
    keeps_apart: bool
    """There may be test sets: training text that shares 13 words in a row with one is left out."""
    default_cap: float
    """Of an arm's weight, where the policy gives none."""


RULES = {
    1: Rules(
        holds_out_pieces=False,
        sums_norm_by_blocks=False,
        corrects_ema=False,
        reads_json_arrays=False,
        refuses_web_archives=False,
        orders_by_number=False,
        bounds_held_out=False,
        keeps_apart=False,
        default_cap=1.0,
    ),
    # 1 + sqrt(2 ln 2**31) = 7.6 is the greatest score that a pulled arm can have: a cap of 8
    # cuts none, and an arm that was never pulled, which weighs its cap, comes first.
    2: Rules(
        holds_out_pieces=True,
        sums_norm_by_blocks=True,
        corrects_ema=True,
        reads_json_arrays=False,
        refuses_web_archives=False,
        orders_by_number=False,
        bounds_held_out=False,
        keeps_apart=False,
        default_cap=8.0,
    ),
    3: Rules(
        holds_out_pieces=True,
        sums_norm_by_blocks=True,
        corrects_ema=True,
        reads_json_arrays=True,
        refuses_web_archives=False,
        orders_by_number=False,
        bounds_held_out=False,
        keeps_apart=False,
        default_cap=8.0,
    ),
    4: Rules(
        holds_out_pieces=True,
        sums_norm_by_blocks=True,
        corrects_ema=True,
        reads_json_arrays=True,
        refuses_web_archives=True,
        orders_by_number=True,
        bounds_held_out=True,
        keeps_apart=True,
        default_cap=8.0,
    ),
}

NEWEST_RULES = max(RULES)
"""The number that a new run is given."""

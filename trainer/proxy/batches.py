"""Cut a source into rows and draw them: a batch is a pure function of what was drawn before."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trainer.proxy.permutation import Permutation
from trainer.proxy.randomness import derive_seed
from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError, TokensError
from trainer.rundir.records.loss_record import LossRecord
from trainer.rundir.sources.prepared import rows_in
from trainer.rundir.sources.token_arrays import TokenArray

_MANY_ROWS = 1 << 20
"""From here on an array of them would take 8 MB a pass, and its making a tenth of a second."""


def count_rows(tokens: TokenArray, *, context: int) -> int:
    """The rows of a source's tokens."""
    return rows_in(len(tokens), context)


def require_rows(name: str, tokens: TokenArray, *, context: int) -> None:
    """Check that the source fills a row.

    Raises:
        SourceError: it doesn't.
    """
    if not count_rows(tokens, context=context):
        raise SourceError(
            f"sources.{name}: {len(tokens)} training tokens don't fill one row of model.context"
            f" = {context} tokens and one target; give it more text"
        )


def require_known(name: str, tokens: TokenArray | NDArray[np.int64], *, vocab_size: int) -> None:
    """Check that the model knows each token; a GPU that meets another one is lost to the process.

    Raises:
        TokensError: it doesn't.
    """
    if tokens.size and (largest := int(tokens.max())) >= vocab_size:
        raise TokensError(
            f"the prepared tokens of {shown(name)} are damaged: {largest} is none of the"
            f" {vocab_size} of model.vocab_size; move its folder in tokens/ away: the next start"
            " makes it again, if the text is as it was"
        )


def take_rows(tokens: TokenArray, rows: NDArray[np.int64], *, context: int) -> NDArray[np.int64]:
    """The rows of these numbers: shape (len(rows), context + 1), inputs and shifted targets."""
    positions = rows[:, None] * context + np.arange(context + 1)
    rows_RT: NDArray[np.int64] = tokens[positions].astype(np.int64)
    return rows_RT


def draw_rows(
    tokens: TokenArray,
    *,
    context: int,
    seed: int,
    arm: str,
    rows_given: int,
    rows: int,
    by_number: bool,
) -> NDArray[np.int64]:
    """The next `rows` rows of an arm that has given `rows_given` before: (rows, context + 1).

    Pass after pass over the source, each in an order of its own: no row comes twice before all
    have been seen, and a draw that reaches the end of a pass goes on in the next one. A pure
    function: nothing is remembered between calls that could be lost in a crash.
    `by_number`: whether the run's rules order many rows without an array of them.
    """
    require_rows(arm, tokens, context=context)
    n_rows = count_rows(tokens, context=context)
    chosen = next_rows(
        n_rows, seed=seed, arm=arm, rows_given=rows_given, rows=rows, by_number=by_number
    )
    return take_rows(tokens, chosen, context=context)


def next_rows(
    n_rows: int, *, seed: int, arm: str, rows_given: int, rows: int, by_number: bool
) -> NDArray[np.int64]:
    """The numbers of the rows that `draw_rows` takes, of a source of `n_rows`: shape (rows,)."""
    chosen = np.empty(rows, np.int64)
    done = 0
    while done < rows:
        pass_number, start = divmod(rows_given + done, n_rows)
        end = min(start + rows - done, n_rows)
        if by_number and n_rows >= _MANY_ROWS:
            order = Permutation(n_rows, "order", seed, arm, pass_number)
            piece = order(np.arange(start, end))
        else:
            piece = _pass_order(seed, arm, pass_number, n_rows)[start:end]
        chosen[done : done + len(piece)] = piece
        done += len(piece)
    return chosen


def places_of(
    rows: NDArray[np.int64], n_rows: int, *, seed: int, arm: str, pass_number: int, by_number: bool
) -> NDArray[np.int64]:
    """Where in a pass over a source of `n_rows` each of these rows is given: shape (rows,)."""
    if by_number and n_rows >= _MANY_ROWS:
        return Permutation(n_rows, "order", seed, arm, pass_number).inverse(rows)
    places = np.empty(n_rows, np.int64)
    places[_pass_order(seed, arm, pass_number, n_rows)] = np.arange(n_rows)
    return places[rows]


def rows_given(records: Iterable[LossRecord], *, context: int) -> Counter[str]:
    """Rows that each arm has given, from the whole loss history (all phases, a step once)."""
    given: dict[str, int] = defaultdict(int)  # in half the time that a Counter takes
    for record in records:
        given[record.arm] += record.tokens // context
    return Counter(given)


@lru_cache(maxsize=64)
def _pass_order(seed: int, arm: str, pass_number: int, n_rows: int) -> NDArray[np.int64]:
    """A permutation from numpy's legacy generator, whose stream is frozen for ever (NEP 19).

    `numpy.random.Generator` may change its stream from one version to the next, which would
    give a resumed run other batches.
    """
    derived = derive_seed("pass", seed, arm, pass_number)
    generator = np.random.RandomState([derived >> 32, derived & 0xFFFF_FFFF])
    order = generator.permutation(n_rows).astype(np.int64, copy=False)
    order.setflags(write=False)
    return order

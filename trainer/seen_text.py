"""`python -m trainer.seen_text`: what `andrea-console seen` starts, since the tokenizer is the
trainer's.

It takes no lock and gives way to a trainer. It prints a line of JSON for each document, and
between them how far it is.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from trainer.answering import answer, tell
from trainer.proxy.seen import Seen
from trainer.proxy.tokenizer import load_tokenizer
from trainer.rundir.config.run_toml import load_settings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError

_TELL_SECONDS = 0.5


def main(argv: Sequence[str] | None = None) -> int:
    """Find, and tell."""
    arguments = _parse(argv)
    return answer(lambda: find(arguments), arguments.run)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="trainer.seen_text")
    parser.add_argument("run", type=Path)
    parser.add_argument("--words", default="")
    parser.add_argument("--file", default="")
    parser.add_argument("--row", type=int)
    parser.add_argument("--most", type=int, required=True)
    return parser.parse_args(argv)


def find(arguments: argparse.Namespace) -> None:
    """Tell of so many documents at most; raises `RunError` or `OSError`."""
    run = RunDirectory(arguments.run)
    settings = load_settings(run.settings)
    if settings.trainer.command:
        raise SettingsError(f"{run.settings}: trainer.command names another trainer; ask that one")
    tokenizer = load_tokenizer(
        run.tokenizer, vocab_size=settings.model.vocab_size, settings=settings.tokenizer
    )
    seen = Seen(run, tokenizer)
    found = (
        seen.of_file(arguments.file, arguments.row)
        if arguments.file
        else seen.of_words(arguments.words, _Teller().tell)
    )
    for document in islice(found, arguments.most):
        tell(document=document.as_json())


class _Teller:
    """Tells how far the search is, at times."""

    def __init__(self) -> None:
        self._told_at = time.monotonic()

    def tell(self, source: str, done: int, total: int) -> None:
        """Tokens of the source."""
        if time.monotonic() - self._told_at >= _TELL_SECONDS:
            self._told_at = time.monotonic()
            tell(source=source, done=done, total=total)


if __name__ == "__main__":
    sys.exit(main())

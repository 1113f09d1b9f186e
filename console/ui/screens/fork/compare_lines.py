"""Two runs side by side as lines: verdict, figures, settings, samples; pure."""

from collections.abc import Sequence
from itertools import zip_longest

from textual.content import Content

from console import formatting
from console.fork.comparison import Column, Comparison
from console.fork.paired_rows import difference
from console.ui.screens.pivot.step import wrapped
from console.ui.theme import ACCENT, DIM
from console.ui.widgets.text import foreign, left, names_within, right
from trainer.rundir.names import escape_control

_LABEL_CELLS = 24
_MOST_VALUE_CELLS = 24
_SAMPLE_OF = "sample of "


def comparison_lines(made: Comparison, width: int) -> list[Content]:
    """All of it, the verdict first."""
    verdicts = [column.verdict for column in made.columns if column.verdict]
    lines = [line for words in verdicts for line in _said(words, width, f"bold {ACCENT}")]
    lines += [line for words in made.remarks for line in _said(words, width, DIM)]
    lines += [Content(), *_figures(made, width)]
    if made.differences:
        lines += [Content(), Content.styled("Settings that differ", "bold")]
        labels = names_within([foreign(name) for name in made.differences], _LABEL_CELLS - 1)
        lines += [
            _row(label, [_shown(value) for value in values], width)
            for label, values in zip(labels, made.differences.values(), strict=True)
        ]
    return [*lines, Content(), *_samples(made, width)]


def _said(words: str, width: int, style: str) -> list[Content]:
    return wrapped(Content.styled(foreign(words), style), width)


def _figures(made: Comparison, width: int) -> list[Content]:
    columns = made.columns
    parted, last = formatting.steps(made.parted_after), formatting.steps(made.last_step)
    audited = formatting.steps(made.audited_step)
    steps = f"the same to step {parted}; both trained to {last}, audited at {audited}"
    return [
        Content.styled(steps, DIM),
        _row("", [foreign(column.name) for column in columns], width, style="bold"),
        _row(f"val_loss, {made.shared_rows} rows", [_loss(c.val_loss) for c in columns], width),
        _row("difference, ± its error", [difference(c.against_first) for c in columns], width),
        *_by_source(made, width),
        _row("coherence score", [formatting.score(c.score) for c in columns], width),
        *_mean_scores(columns, width),
        _row("training loss, mean", [_loss(c.mean_loss) for c in columns], width, style=DIM),
        _row("training loss, EMA", [_loss(c.ema) for c in columns], width, style=DIM),
    ]


def _by_source(made: Comparison, width: int) -> list[Content]:
    """Of several sources the loss of each and, on rows that both have, the difference."""
    lines = []
    for each in made.sources if len(made.sources) > 1 else ():
        of_what = f", {each.rows} rows" if each.rows else ", own rows"
        (name,) = names_within([foreign(each.name)], _LABEL_CELLS - 1 - len(of_what) - 2)
        lines.append(_row(f"  {name}{of_what}", [_loss(loss) for loss in each.losses], width))
        if any(each.against_first):
            lines.append(_row("", [difference(p) for p in each.against_first], width, style=DIM))
    return lines


def _mean_scores(columns: Sequence[Column], width: int) -> list[Content]:
    n_prompts = len(columns[0].samples)
    means = [formatting.score(column.mean_score) for column in columns]
    return [_row(f"its mean, {n_prompts} prompts", means, width)] if n_prompts > 1 else []


def _row(name: str, values: list[str], width: int, *, style: str = "") -> Content:
    cells = min(max((width - _LABEL_CELLS) // max(len(values), 1), 1), _MOST_VALUE_CELLS)
    shown = "".join(right(value, cells) for value in names_within(values, cells - 1))
    return Content.assemble((left(name, _LABEL_CELLS), DIM), (shown, style))


def _samples(made: Comparison, width: int) -> list[Content]:
    """The texts of both, in columns of half the width: a pair for each prompt that both have."""
    cells = max((width - 3) // 2, 1)
    both = made.columns[:2]
    names = names_within([foreign(column.name) for column in both], cells - len(_SAMPLE_OF))
    first, second = (_texts(*each, cells) for each in zip(names, both, strict=True))
    return [line for pair in zip(first, second, strict=True) for line in _beside(*pair, cells)]


def _beside(first: list[Content], second: list[Content], cells: int) -> list[Content]:
    return [
        Content.assemble(a, " " * max(cells - a.cell_length, 0), (" │ ", DIM), b)
        for a, b in zip_longest(first, second, fillvalue=Content())
    ]


def _texts(name: str, column: Column, cells: int) -> list[list[Content]]:
    """A block of lines for the title, and one for each sample."""
    title = Content.styled(left(_SAMPLE_OF + name, cells), "bold")
    if not column.samples:
        return [[title], _wrapped("", column.text or "no sample", cells)]
    blocks = [_wrapped(sample.prompt, sample.text, cells) for sample in column.samples]
    apart = [block if block is blocks[0] else [Content(), *block] for block in blocks]
    return [[title], *apart]


def _wrapped(prompt: str, text: str, cells: int) -> list[Content]:
    whole = Content.assemble((escape_control(prompt), DIM), escape_control(text))
    return [line for part in whole.split() for line in part.wrap(cells)]


def _loss(value: float | None) -> str:
    return formatting.UNKNOWN if value is None else f"{value:.4f}"


def _shown(value: object) -> str:
    return "absent" if value is None else foreign(str(value))

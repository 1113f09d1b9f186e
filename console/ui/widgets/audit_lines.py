"""A sample audit in words: its score with the four parts, and its text, as data."""

from dataclasses import dataclass

from textual.content import Content

from console import formatting
from console.ui.theme import DIM, GOOD, RED
from console.ui.widgets.text import foreign
from console.ui.widgets.typed_search import marked
from console.view.repetition import repeated_share, repeated_spans
from console.view.run_view import Audit, Sample
from trainer.rundir.names import escape_control

LOW_SCORE = 30.0
"""Under this a coherence score counts against the run (the contract's default threshold)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of the four parts of a score."""

    name: str
    field: str
    points: int


PARTS = (
    Part(name="bigrams", field="bigram_diversity", points=35),
    Part(name="trigrams", field="trigram_diversity", points=35),
    Part(name="English", field="english_words", points=20),
    Part(name="characters", field="character_diversity", points=10),
)


def part_value(sample: Sample, part: Part) -> float | None:
    """The points that this part gave; `None` where the audit doesn't say."""
    value: float | None = getattr(sample, part.field)
    return value


def score_style(score: float | None) -> str:
    """Red for a score that counts against the run."""
    return RED if score is not None and score < LOW_SCORE else "bold"


def score_content(audit: Audit, before: Audit | None = None) -> Content:
    """`score 71.3 +1.2   val_loss 2.9312 -0.0040`: how it changed where there is one before."""
    pieces: list[str | tuple[str, str] | Content] = [
        ("score ", DIM),
        (formatting.score(audit.score), score_style(audit.score)),
        *_change(audit.score, before.score if before else None, 1, better=1),
        ("   val_loss ", DIM),
        (formatting.loss(audit.val_loss), "bold"),
        *_change(audit.val_loss, before.val_loss if before else None, 4, better=-1),
    ]
    return Content.assemble(*pieces)


def _change(
    new: float | None, old: float | None, digits: int, *, better: int
) -> tuple[str | Content, ...]:
    if new is None or old is None:
        return ()
    return (" ", change_content(new, old, digits, better=better))


def parts_content(sample: Sample) -> Content:
    """The four parts with the points that each can give at most."""
    pieces: list[str | tuple[str, str]] = []
    for part in PARTS:
        pieces += [
            (f"{part.name} ", DIM),
            formatting.number(part_value(sample, part), 1),
            (f"/{part.points}   ", DIM),
        ]
    return Content.assemble(*pieces).rstrip()


def text_lines(sample: Sample, width: int, *, search: str = "") -> list[Content]:
    """The prompt dim and the model's text after it, wrapped; escaped, never markup.

    What the text says again is underlined, what is searched for is marked.
    """
    prompt, text = escape_control(sample.prompt), escape_control(sample.text)
    whole = Content.assemble((prompt, DIM), text)
    for start, end in repeated_spans(text):
        whole = whole.stylize("underline", len(prompt) + start, len(prompt) + end)
    whole = marked(whole, escape_control(search))
    return [line for part in whole.split() for line in part.wrap(max(width, 1)) or [Content()]]


def repeated_content(sample: Sample) -> Content:
    """`repeated 4 %`; nothing where nothing is."""
    share = repeated_share(escape_control(sample.text))
    return Content.styled(f"repeated {formatting.percent(share)}", DIM) if share else Content()


def change_content(new: float | None, old: float | None, digits: int, *, better: int) -> Content:
    """The signed difference; green where it moved in the direction `better`."""
    if new is None or old is None:
        return Content.styled(formatting.UNKNOWN, DIM)
    change = round(new - old, digits)
    if not change:
        return Content.styled("=", DIM)
    return Content.styled(f"{change:+.{digits}f}", GOOD if change * better > 0 else "")


def title(audit: Audit) -> str:
    """`step 112,700 · cadence`."""
    words = [f"step {formatting.steps(audit.step)}", foreign(audit.cause)]
    return " · ".join(word for word in words if word)

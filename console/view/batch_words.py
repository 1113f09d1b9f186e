"""What a step was fed, in words: for the verb and the screen alike."""

from trainer.rundir.batch import Batch, BatchRow, RowDocument
from trainer.rundir.layout import RunDirectory
from trainer.rundir.names import quoted, shown
from trainer.rundir.seen import SeenDocument


def proof_words(run: RunDirectory, batch: Batch) -> str:
    """What tells that these were the step's rows."""
    if batch.is_proven:
        return "proven: put through the checkpoint before, these rows give that loss bit for bit"
    by_replay = f"andrea-console verify {quoted(run.path)} --replay {batch.step}..{batch.step}"
    if batch.is_proven is False:
        return (
            "NOT proven: put through the checkpoint before, these rows give another loss (other"
            f" tokens, or another machine than trained it?); {by_replay} tells more"
        )
    steps = [f"{step:,}" for step in (batch.before, batch.after) if step is not None]
    taken = f"losses at the checkpoints of steps {' and '.join(steps)}; " if steps else ""
    return f"{taken}drawn anew from settings and history; proven by {by_replay}"


def places_of(row: BatchRow) -> str:
    """Where its documents are from, in their order."""
    return ", ".join(place_of(document) for document in row.documents)


def place_of(document: RowDocument | SeenDocument) -> str:
    """`web/part-3.jsonl:1,204`, where it is kept."""
    if document.file:
        return f"{shown(document.file)}:{document.row:,}"
    return f"document {document.document:,}" if document.document else "from an unknown place"

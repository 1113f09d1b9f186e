"""The documents of a column: Parquet, Arrow files and streams, by pyarrow where it is installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from trainer.rundir.names import shown
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.content import Kind
from trainer.rundir.sources.left_out import LeftOut

_BATCH_ROWS = 1024


def read_table(
    path: Path, kind: Kind, field: str, left_out: LeftOut, groups: range | None = None
) -> Iterator[str]:
    """The column's texts, row by row; a row without one is left out. Raises `SourceError`.

    `groups`: those of these row groups (Parquet) or batches (Arrow) only, counted from 0; `None`:
    all.
    """
    number = 0
    with _naming(path):
        for column in _columns(path, kind, field, groups):
            for text in column.to_pylist():
                number += 1
                left_out.rows = number
                if isinstance(text, str):
                    left_out.records += 1
                    yield text
                else:
                    left_out.add_record(f"{shown(path)}, row", number, f"{field!r} is {text!r}")


def group_bytes(path: Path, kind: Kind, field: str) -> Iterator[int]:
    """About the bytes of text in each row group, or batch; no text is read. `SourceError`."""
    with _naming(path):
        if kind is Kind.PARQUET:
            with _pyarrow().parquet.ParquetFile(path) as file:
                _require_text_column(path, file.schema_arrow, field)
                sizes = [
                    _column_bytes(file.metadata.row_group(n), field)
                    for n in range(file.num_row_groups)
                ]
            yield from sizes
            return
        for batch in _batches(path, kind, field, None):
            yield batch.column(field).nbytes


def require_column(path: Path, kind: Kind, field: str) -> None:
    """Raise `SourceError` unless the file has a column of text of that name."""
    with _naming(path):
        next(_columns(path, kind, field, None), None)


def _column_bytes(group: Any, field: str) -> int:
    columns = map(group.column, range(group.num_columns))
    return sum(c.total_uncompressed_size for c in columns if c.path_in_schema == field)


def _columns(path: Path, kind: Kind, field: str, groups: range | None) -> Iterator[Any]:
    """The column in pieces: a row group, and of that a thousand rows, at a time."""
    if kind is Kind.PARQUET:
        with _pyarrow().parquet.ParquetFile(path) as file:
            _require_text_column(path, file.schema_arrow, field)
            for batch in file.iter_batches(
                _BATCH_ROWS, row_groups=groups and list(groups), columns=[field]
            ):
                yield batch.column(0)
        return
    for batch in _batches(path, kind, field, groups):
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.column(field).slice(start, _BATCH_ROWS)


def _batches(path: Path, kind: Kind, field: str, groups: range | None) -> Iterator[Any]:
    """Of a mapped file: what nobody looks at is not read. A stream has no index: it is gone
    through from its beginning.
    """
    arrow = _pyarrow()
    with arrow.memory_map(str(path)) as mapped:
        if kind is Kind.ARROW_FILE:
            reader = arrow.ipc.open_file(mapped)
            _require_text_column(path, reader.schema, field)
            yield from map(reader.get_batch, groups or range(reader.num_record_batches))
        else:
            reader = arrow.ipc.open_stream(mapped)
            _require_text_column(path, reader.schema, field)
            yield from islice(reader, groups.start, groups.stop) if groups else reader


def _require_text_column(path: Path, schema: Any, field: str) -> None:
    if field not in schema.names:
        raise SourceError(
            f"{shown(path)}: no column {field!r}; it has {', '.join(map(repr, schema.names))}"
            " (name the right one as `field` of the source)"
        )
    kind = str(schema.field(field).type)
    if "string" not in kind:
        raise SourceError(f"{shown(path)}: the column {field!r} is no text but {kind}")


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    arrow = _pyarrow()
    try:
        yield
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0][:200]
        raise SourceError(
            f"{shown(path)}: is damaged or cut off ({reason}); put it there again, or move it away"
        ) from error


def _pyarrow() -> Any:
    try:
        import pyarrow  # noqa: PLC0415
        import pyarrow.ipc  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise SourceError(
            "Parquet and Arrow files are read by pyarrow, which is not installed:"
            " pip install 'andrea[data]'"
        ) from error
    return pyarrow

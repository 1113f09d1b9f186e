"""The sample audits of a run, over all its phases."""

from trainer.rundir.layout import RunDirectory
from trainer.rundir.records.record_file import Record, load_records


def all_audits(run: RunDirectory) -> list[Record]:
    """The audits of all phases, oldest phase first; raises `OSError` or `HistoryError`."""
    folders = [folder for _, folder in run.archived_phases()]
    paths = [folder / run.samples.name for folder in folders] + [run.samples]
    return [record for path in paths for record in load_records(path).records]

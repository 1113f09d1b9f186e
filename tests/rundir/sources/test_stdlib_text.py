"""The text of the running Python, and that its three sources share none."""

import sys
from pathlib import Path

import pytest

from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources import stdlib_text
from trainer.rundir.sources.documents import look_at_files, read_documents


def test_three_sources_carry_several_megabytes_and_share_no_docstring() -> None:
    text = {
        name: "\n".join(read_documents(SourceSettings(path=f"python:{name}"), Path()))
        for name in stdlib_text.READERS
    }
    assert sum(map(len, text.values())) > 4_000_000
    assert min(map(len, text.values())) > 300_000
    assert "json.decoder.JSONDecoder\nSimple JSON" in text["docstrings"]
    assert "Simple JSON <" not in text["code"]
    assert "def namedtuple" not in text["docstrings"]


def test_reading_again_gives_the_same_documents_in_the_same_order() -> None:
    assert list(stdlib_text.read_topics()) == list(stdlib_text.read_topics())
    assert list(stdlib_text.read_code()) == list(stdlib_text.stdlib_documents("code"))


def test_only_the_librarys_own_modules_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "top.py",
        "_sysconfigdata__linux.py",
        "package/__init__.py",
        "package/module.py",
        "package/broken.py",
        "package/tests/case.py",
        "test/case.py",
        "site-packages/installed/module.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"""Says {name}."""\nclass C:\n    def f(self):\n        """Does."""\n')
    (tmp_path / "package/broken.py").write_text("def (")
    monkeypatch.setattr(stdlib_text, "_library", lambda: tmp_path)
    assert [text.splitlines()[0] for text in stdlib_text.read_code()] == ['"""Says top.py."""']
    assert list(stdlib_text.read_docstrings()) == [
        "package\nSays package/__init__.py.\n\npackage.C.f\nDoes.",
        "package.module\nSays package/module.py.\n\npackage.module.C.f\nDoes.",
    ]


def test_stamp_tells_the_three_sources_apart_and_needs_no_folder() -> None:
    stamps = {
        look_at_files(SourceSettings(path=f"python:{name}"), Path("/nowhere")).stamp
        for name in stdlib_text.READERS
    }
    assert len(stamps) == 3


def test_python_cut_down_by_its_packager_has_no_text_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    stdlib_text._KEPT.clear()
    with pytest.raises(SourceError, match="python:docs: there is no text in it"):
        list(read_documents(SourceSettings(path="python:docs"), Path()))
    stdlib_text._KEPT.clear()

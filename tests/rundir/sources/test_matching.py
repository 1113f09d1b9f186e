"""Which files a glob names: each once, whatever links are in the tree."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.rundir.config.settings import SourceSettings
from trainer.rundir.outcomes import SourceError
from trainer.rundir.sources.documents import look_at_files, read_documents
from trainer.rundir.sources.matching import match_files


def _tree(base: Path, *names: str) -> Path:
    for name in names:
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return base


def _names(base: Path, pattern: str) -> list[str]:
    return [str(path.relative_to(base)) for path in match_files(base, pattern).files]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/*.txt", ["a/b/c.txt", "a/z.txt", "b.txt"]),
        ("**", ["a/b/c.txt", "a/skip.md", "a/z.txt", "b.txt"]),
        ("**/**/*.txt", ["a/b/c.txt", "a/z.txt", "b.txt"]),
        ("a/**/c.txt", ["a/b/c.txt"]),
        ("*/*.txt", ["a/z.txt"]),
        ("[ab].txt", ["b.txt"]),
        ("a/../b.txt", ["a/../b.txt"]),
        (".*/x.txt", [".hidden/x.txt"]),
        ("a/**/*", ["a/b/c.txt", "a/skip.md", "a/z.txt"]),
        ("none/*", []),
    ],
)
def test_glob_names_what_a_shell_names(tmp_path: Path, pattern: str, found: list[str]) -> None:
    _tree(tmp_path, "b.txt", "a/z.txt", "a/b/c.txt", "a/skip.md", ".hidden/x.txt", "a/.dot.txt")
    assert _names(tmp_path, pattern) == found


def test_links_that_lead_back_give_each_file_once_and_end(tmp_path: Path) -> None:
    """With `self` three files were 123 documents; with `up` the glob never ended."""
    tree = _tree(tmp_path / "tree", "a.txt", "x/b.txt", "x/y/c.txt")
    (tree / "self").symlink_to(".")
    (tree / "up").symlink_to("..")
    (tree / "x" / "up").symlink_to("../..")
    assert _names(tree, "**/*.txt") == ["a.txt", "x/b.txt", "x/y/c.txt"]
    assert _names(tree, "*/*.txt") == ["self/a.txt", "x/b.txt"]
    source = SourceSettings(path="**/*.txt")
    assert list(read_documents(source, tree)) == ["a.txt", "x/b.txt", "x/y/c.txt"]


def test_folder_elsewhere_is_walked_through_its_link(tmp_path: Path) -> None:
    _tree(tmp_path, "other/d/e.txt", "tree/a.txt")
    (tmp_path / "tree" / "linked").symlink_to(tmp_path / "other")
    assert _names(tmp_path / "tree", "**/*.txt") == ["a.txt", "linked/d/e.txt"]


def test_file_with_two_names_counts_once_by_its_own(tmp_path: Path) -> None:
    _tree(tmp_path, "m.txt", "n.txt")
    (tmp_path / "a.txt").symlink_to("m.txt")
    (tmp_path / "z.txt").hardlink_to(tmp_path / "n.txt")
    (tmp_path / "nowhere.txt").symlink_to("gone")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    assert _names(tmp_path, "*.txt") == ["m.txt", "n.txt"]


@given(st.sets(st.sampled_from(["a/1.txt", "a/b/2.txt", "c/3.txt", "4.txt", "a/b/c/5.md"])))
def test_without_links_the_files_are_those_of_the_standard_glob(
    tmp_path_factory: pytest.TempPathFactory, names: set[str]
) -> None:
    """So that runs of the version before find their text again, in the same order."""
    tree = _tree(tmp_path_factory.mktemp("tree"), *names)
    for pattern in ("**/*.txt", "*/*", "a/**", "**/b/**/*", "?.txt"):
        expected = sorted(str(path) for path in tree.glob(pattern) if path.is_file())
        if pattern.endswith("**"):
            expected = sorted(str(p) for p in tree.glob(f"{pattern}/*") if p.is_file())
        assert [str(path) for path in match_files(tree, pattern).files] == expected


def test_files_of_a_folder_are_known_by_one_look_at_each(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("four")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.txt")
    (tmp_path / "nowhere.txt").symlink_to(tmp_path / "gone")
    (tmp_path / "self.txt").symlink_to(tmp_path / "self.txt")
    matched = match_files(tmp_path, "**/*")
    assert [file.path for file in matched.found] == [str(tmp_path / "a.txt")]
    assert [file.facts.st_size for file in matched.found if file.facts] == [4]
    assert not matched.unreadable


def test_each_folder_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _tree(tmp_path, "a/b/c.txt", "a/z.txt", "b.txt")
    scandir, read = os.scandir, []

    def counting(path: Path) -> Any:
        read.append(str(path.relative_to(tmp_path)))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counting)
    assert _names(tmp_path, "**/*") == ["a/b/c.txt", "a/z.txt", "b.txt"]
    assert sorted(read) == [".", "a", "a/b"]


def test_walk_can_be_given_up_at_any_entry(tmp_path: Path) -> None:
    tree = _tree(tmp_path, *(f"{n // 10}/{n}.txt" for n in range(100)))
    calls = iter(range(60))

    def check() -> None:
        if next(calls, None) is None:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        match_files(tree, "**/*.txt", check)


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of which one folder can't be read; root, who runs some tests, may read all."""
    _tree(tmp_path, "open/a.txt", "closed/b.txt")
    scandir = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    return tmp_path


def test_folder_that_cannot_be_read_is_named(closed: Path) -> None:
    found = look_at_files(SourceSettings(path="**/*.txt"), closed)
    assert [file.name for file in found.files] == ["open/a.txt"]
    assert found.unreadable == (closed / "closed",)
    with pytest.raises(SourceError, match=r"no such file.*closed can't be read"):
        look_at_files(SourceSettings(path="closed/*.txt"), closed)

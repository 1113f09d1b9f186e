"""Read the text that every Python installation carries: the sources `python:NAME`."""

import ast
import importlib
import os
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from trainer.rundir.sources.matching import never

_NOT_LIBRARY = {"__pycache__", "site-packages", "dist-packages", "lib-dynload"}
_TEST_DIRECTORIES = {"test", "tests", "idle_test"}
_GENERATED = {"pydoc_data", "encodings"}  # python:docs itself, and tables of character codes

_KEPT: dict[str, tuple[str, ...]] = {}
"""Documents that were read already."""

_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def read_topics() -> Iterator[str]:
    """`python:docs`: the language reference, one document a topic (about 0.5 MB)."""
    try:
        topics: Mapping[str, str] = importlib.import_module("pydoc_data.topics").topics
    except ImportError:  # a Python cut down by its packager
        return
    for name in sorted(topics):
        yield topics[name]


def read_docstrings() -> Iterator[str]:
    """`python:docstrings`: what the library's packages say of themselves, one document a module.

    Only modules inside packages (`json.decoder`, `asyncio.tasks`), about 0.9 MB: the top-level
    modules are `python:code`. So no sentence is in both, and text that is held out of one source
    is never trained on through the other; it also halves the time that parsing takes.
    """
    library = _library()
    for path in _package_modules(library):
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):  # a template or a sample of broken code, not a module
            continue
        name = ".".join(path.relative_to(library).with_suffix("").parts)
        if document := "\n\n".join(_docstrings(tree, name.removesuffix(".__init__"))):
            yield document.encode("utf-8", "replace").decode()


def read_code() -> Iterator[str]:
    """`python:code`: the library's top-level modules as they stand, one document a file (5 MB).

    The build's own settings (`_sysconfigdata…`) are left out: paths and compiler flags.
    """
    for path in sorted(_library().glob("*.py")):
        if not path.name.startswith("_sysconfigdata"):
            yield path.read_text(encoding="utf-8", errors="replace")


READERS: dict[str, Callable[[], Iterator[str]]] = {
    "docs": read_topics,
    "docstrings": read_docstrings,
    "code": read_code,
}


def stdlib_documents(name: str, check: Callable[[], None] = never) -> tuple[str, ...]:
    """The documents of `python:NAME`, kept: a new run reads them three times. KeyError: no such.

    `check` is called while they are read, and may raise to give up.
    """
    if name not in _KEPT:
        found = []
        for document in READERS[name]():
            check()
            found.append(document)
        _KEPT[name] = tuple(found)
    return _KEPT[name]


def _library() -> Path:
    return Path(sysconfig.get_path("stdlib"))


def _package_modules(library: Path) -> Iterator[Path]:
    skipped = _NOT_LIBRARY | _TEST_DIRECTORIES | _GENERATED
    for directory, subdirectories, files in os.walk(library):
        subdirectories[:] = sorted(set(subdirectories) - skipped)
        if Path(directory) != library:
            yield from (Path(directory, file) for file in sorted(files) if file.endswith(".py"))


def _docstrings(node: ast.AST, name: str) -> Iterator[str]:
    """`name` and docstring of a module, then of each class and function in it, as they stand."""
    if not isinstance(node, _WITH_DOCSTRING):
        return
    if text := ast.get_docstring(node):
        yield f"{name}\n{text}"
    for child in node.body:
        if isinstance(child, _WITH_DOCSTRING) and not isinstance(child, ast.Module):
            yield from _docstrings(child, f"{name}.{child.name}")

"""Who loads what, asked of a real interpreter: import contracts can't see what an import runs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = [
    "console.cli",
    "console.follow.follower",
    "console.operations.operations",
    "console.process.launch",
    "console.verbs.table",
    "console.follow.watch",
    "console.formatting",
]


def loaded_after(statement: str) -> set[str]:
    """Top-level names of `sys.modules` after `statement`, in a fresh interpreter."""
    show = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", f"{statement}; {show}"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", CORE)
def test_the_core_of_the_console_loads_neither_torch_nor_textual(module: str) -> None:
    loaded = loaded_after(f"import {module}")
    assert "trainer" in loaded or module in {"console.formatting", "console.follow.watch"}
    assert not loaded & {"torch", "tokenizers", "textual", "rich"}


def test_the_run_directory_loads_neither_torch_nor_a_terminal_library() -> None:
    names = [
        path.stem for path in (ROOT / "trainer" / "rundir").glob("*.py") if path.stem != "__init__"
    ]
    loaded = loaded_after("; ".join(f"import trainer.rundir.{name}" for name in names))
    assert not loaded & {"torch", "tokenizers", "textual", "rich", "watchfiles", "console"}


def test_the_trainers_root_imports_nothing() -> None:
    bare = loaded_after("pass")
    assert loaded_after("import trainer") - bare == {"trainer"}

"""What a start would refuse, asked without one."""

from pathlib import Path

import pytest

from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import Exit
from trainer.rundir.start_checks import look_ahead


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("~nobody-of-this-name/a.txt", "no such user"),
        ("a\\u0000b/*.txt", "holds a NUL"),
        ("gone/*.txt", "no such file"),
        ("python:doc", "did you mean python:docs"),
        ("x" * 5000, "File name too long"),
    ],
)
def test_path_that_leads_nowhere_is_a_refusal_and_no_crash(
    tmp_path: Path, path: str, words: str
) -> None:
    run = RunDirectory(tmp_path)
    run.settings.write_text(f'[sources.a]\npath = "{path}"\n')
    (refusal,) = look_ahead(run).refusals
    assert words in str(refusal)
    assert refusal.exit_code in (Exit.USAGE, Exit.SAVE_FAILED)


def test_settings_that_are_invalid_hide_no_pivot_that_is_half_done(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.pivot.write_text("[]")
    run.settings.write_text("seed =")
    assert [str(error).partition(": ")[2][:16] for error in look_ahead(run).refusals] == [
        "not a pivot's jo",
        "not valid TOML: ",
    ]


def test_another_engines_run_is_asked_only_what_the_console_needs(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.settings.write_text('[sources.a]\npath = "gone"\n')
    assert look_ahead(run, is_foreign=True).refusals == ()

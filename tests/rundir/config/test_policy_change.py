"""A policy file is merged by name, and its mistakes are named by file and key."""

import os
from pathlib import Path
from typing import Any

import pytest

from trainer.rundir.config.policy_change import (
    Bounds,
    PolicyChange,
    apply_change,
    check_sources,
    diff_texts,
    load_policy_file,
    require_policy_only,
)
from trainer.rundir.config.run_toml import parse_settings
from trainer.rundir.config.settings import ArmPolicy, SourceSettings
from trainer.rundir.layout import RunDirectory
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.sources.documents import SourceFiles
from trainer.rundir.sources.prepared import TokenIndex, write_index
from trainer.rundir.sources.source_size import measure_source

TEXT = """# why this run
preset = "demo"

[sources.docs]      # the reference
path = "python:docs"

[sources.code]
path = "python:code"

[policy.docs]
floor = 0.2  # never below
cap = 1.0
"""


def loaded(tmp_path: Path, text: str) -> PolicyChange:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    return load_policy_file(file)


def test_change_is_merged_by_name_and_keeps_comments_and_order(tmp_path: Path) -> None:
    change = loaded(
        tmp_path,
        'note = "more code"\nremove = ["docs"]\n[policy.code]\nfloor = 1\n'
        '[sources.letters]\npath = "letters/*.jsonl"\n'
        'field = "body"\n[policy.letters]\ncap = 0.5\n',
    )
    text = apply_change(TEXT, change)
    settings = parse_settings(text)
    letters = SourceSettings(path=str(tmp_path / "letters/*.jsonl"), field="body")
    assert settings.sources == {"code": SourceSettings(path="python:code"), "letters": letters}
    assert settings.policy == {"code": ArmPolicy(floor=1.0), "letters": ArmPolicy(cap=0.5)}
    assert change.note == "more code"
    assert text.startswith("# why this run\n")


def test_bound_that_is_not_named_stays_with_its_comment() -> None:
    text = apply_change(TEXT, PolicyChange(bounds={"docs": Bounds(cap=0.6)}))
    assert diff_texts(TEXT, text)[-2:] == ("-cap = 1.0", "+cap = 0.6")
    assert "floor = 0.2  # never below" in text


def test_run_that_is_silent_about_its_sources_keeps_the_default_ones() -> None:
    text = apply_change('preset = "demo"\n', PolicyChange(removed=("stdlib-docs",)))
    assert list(parse_settings(text).sources) == ["stdlib-docstrings", "stdlib-code"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[policy.docs]\nfloor = 2.0\n", r"policy\.docs: floor 2\.0 and cap 1\.0"),
        ("[policy.docs]\ncap = 0\nfloor = 0\n[policy.code]\ncap = 0\n", "all caps are 0"),
        ("[policy.doc]\ncap = 1\n", r"policy\.doc: no such source; did you mean docs\?"),
        ('remove = ["dosc"]\n', r"remove: dosc: no such source; did you mean docs\?"),
        ('remove = ["docs", "code"]\n', "no source is left"),
        ('remove = ["docs"]\n[policy.docs]\ncap = 1\n', "given a source or bounds, too"),
        ('[sources.new]\nfield = "x"\n', r"sources\.new\.path: is missing"),
        ('[sources.new]\npath = " "\n', r"sources\.new\.path: is empty"),
        ("[sources.new]\npath = 3\n", r"sources\.new\.path: 3 is not a string"),
        ('[policy.docs]\ncap = "1"\n', r"policy\.docs\.cap: '1' is not a number"),
        ("[policy.docs]\nroof = 1\n", r"policy\.docs\.roof: no such key; known: floor, cap"),
        ("polcy = 1\n", r"polcy: no such key; did you mean policy\?"),
        ("policy = 1\n", r"policy: write it as tables"),
        ("remove = 1\n", "remove: write it as a list"),
        ("note = 1\n", "note: 1 is not a string"),
        ("[", "not valid TOML"),
    ],
)
def test_mistake_is_named_by_its_key(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=message):
        apply_change(TEXT, loaded(tmp_path, text))


def test_mistake_in_the_file_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"policy\.toml: note: 1 is not a string"):
        loaded(tmp_path, "note = 1\n")
    with pytest.raises(SettingsError, match=r"none\.toml: can't be read"):
        load_policy_file(tmp_path / "none.toml")


def test_source_without_a_file_is_named_before_anything_is_changed(tmp_path: Path) -> None:
    added = {"letters": SourceSettings(path=str(tmp_path / "none.txt"))}
    settings = parse_settings(apply_change(TEXT, PolicyChange(added=added)))
    with pytest.raises(SettingsError, match=r"sources\.letters: .*no such file"):
        check_sources(RunDirectory(tmp_path), parse_settings(TEXT), settings)


def test_source_that_is_there_may_be_restated_but_not_be_another_text(tmp_path: Path) -> None:
    same = PolicyChange(added={"docs": SourceSettings(path="python:docs")})
    assert apply_change(TEXT, same) == TEXT
    other = PolicyChange(added={"docs": SourceSettings(path="python:code")})
    after = parse_settings(apply_change(TEXT, other))
    with pytest.raises(SettingsError, match=r"sources\.docs: python:code: is not the text of"):
        check_sources(RunDirectory(tmp_path), parse_settings(TEXT), after)


def test_only_sources_and_policy_may_change() -> None:
    old, new = parse_settings(TEXT), parse_settings("seed = 4\n" + TEXT)
    with pytest.raises(SettingsError, match="seed: a pivot changes sources and policy only"):
        require_policy_only(old, new)
    require_policy_only(old, parse_settings(TEXT.replace("code", "kode", 1)))


def test_small_source_is_counted_exactly_and_a_large_one_judged_by_its_size(
    tmp_path: Path,
) -> None:
    run = RunDirectory(tmp_path)
    for number in range(40):
        (tmp_path / f"{number:02d}.txt").write_text("0123456789" * 10)
    source = SourceSettings(path="*.txt")
    exact = measure_source(run, source)
    assert (exact.documents, exact.text_bytes, exact.is_exact) == (40, 4000, True)
    assert exact.tokens is None
    about = measure_source(run, source, read_bytes=1000)
    assert (about.documents, about.text_bytes, about.is_exact) == (40, 4000, False)


def test_tokens_are_judged_by_the_other_sources(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    facts: Any = {
        "stamp": "", "tokenizer": "t", "dtype": "<u2", "fingerprint": "f",
        "documents": 1, "held_out_documents": 0,
    }  # fmt: skip
    for name, index in {
        "a": TokenIndex(text_bytes=900, train_tokens=280, held_out_tokens=20, **facts),
        "old": TokenIndex(train_tokens=5000, held_out_tokens=0, **facts),
    }.items():
        folder = run.tokens / name
        folder.mkdir(parents=True)
        for file, tokens in zip(
            index.file_names, (index.train_tokens, index.held_out_tokens), strict=True
        ):
            (folder / file).write_bytes(bytes(2 * tokens))
        write_index(folder, index, SourceFiles(stamp=""))
    (run.tokens / "torn").mkdir()
    (run.tokens / "torn" / "index.json").write_text('{"text_')
    (tmp_path / "a.txt").write_text("x" * 1500)
    assert measure_source(run, SourceSettings(path="a.txt")).tokens == 500


def test_a_policy_file_of_2_gb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.touch()
    os.truncate(path, 2 << 30)
    with pytest.raises(SettingsError, match=r"policy\.toml: can't be read: .*2,147,483,648 bytes"):
        load_policy_file(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param("a = " + "[" * 5000, "not valid TOML", id="deep"),
        ("\ufeff[policy.a]\ncap = 1\n", "byte order mark"),
        ("\x1b = 1", "not valid TOML"),
        pytest.param(f"[policy.a]\ncap = {10**400}", "policy.a.cap: more than 64 bits", id="big"),
    ],
)
def test_a_policy_file_that_is_no_toml_or_no_policy_is_refused_by_its_name(
    tmp_path: Path, data: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=rf"policy\.toml: .*{message}"):
        loaded(tmp_path, data)

"""The lines of a comparison, without a screen."""

from dataclasses import replace

from console import formatting
from console.fork.comparison import SharedSample
from console.ui.screens.fork.compare_lines import comparison_lines
from tests.console.fixed_comparison import fixed_side_by_side


def test_what_differs_is_never_cut_away() -> None:
    made = fixed_side_by_side().comparison
    names = [f"a_run_with_quite_a_long_name_that_was_forked_{letter}" for letter in "ab"]
    columns = [replace(column, name=n) for column, n in zip(made.columns, names, strict=True)]
    settings = {
        f"sources.a_rather_long_source_name_0{number}.path": tuple(
            f"/a/folder/of/many/texts/{number}{letter}.txt" for letter in "ab"
        )
        for number in range(2)
    }
    made = replace(made, columns=tuple(columns), differences=settings)
    lines = [line.plain for line in comparison_lines(made, 76)]
    at = lines.index("Settings that differ")
    names_at = next(at for at, line in enumerate(lines) if line.startswith("val_loss")) - 1
    assert len(set(lines[names_at].split())) == 2
    rows = [line.split() for line in lines[at + 1 : at + 3]]
    assert rows[0][0] != rows[1][0], "the settings"
    assert all(len(row) == len(set(row)) == 3 for row in rows), "the values of each"
    title = next(line for line in lines if line.startswith("sample of"))
    first_title, second_title = (part.strip() for part in title.split("│"))
    assert first_title != second_title


def test_each_prompt_that_both_have_is_shown_with_what_both_made_of_it() -> None:
    made = fixed_side_by_side().comparison
    texts = (("one", "two"), ("1", "22"))
    columns = tuple(
        replace(
            column,
            samples=tuple(
                SharedSample(prompt=prompt, text=text, score=70.0)
                for prompt, text in zip(("", "a \x1b[2J "), of_run, strict=True)
            ),
            mean_score=71.5 if of_run == texts[0] else None,
        )
        for column, of_run in zip(made.columns, texts, strict=True)
    )
    lines = [line.plain.split() for line in comparison_lines(replace(made, columns=columns), 76)]
    assert ["one", "│", "1"] in lines
    assert ["a", "\\x1b[2J", "two", "│", "a", "\\x1b[2J", "22"] in lines
    assert ["its", "mean,", "2", "prompts", "71.5", formatting.UNKNOWN] in lines

"""The table of `compare`, for a person."""

from dataclasses import replace

from console.verbs.compare import as_lines
from tests.console.fixed_comparison import fixed_side_by_side


def test_long_names_and_values_keep_apart() -> None:
    paths = ("/srv/text/letters/1914/*.txt", "/srv/text/letters/1918/*.txt")
    name = "sources.letters-from-the-front.path"
    made = replace(fixed_side_by_side().comparison, differences={name: paths})
    (line,) = (line for line in as_lines(made) if name in line)
    assert line.split() == [name, *paths]


def test_each_of_several_sources_has_its_loss_and_its_difference() -> None:
    made = fixed_side_by_side().comparison
    lines = as_lines(made)
    at = next(n for n, line in enumerate(lines) if "stdlib-code, 120 rows" in line)
    assert len(lines[at].split()) == 5
    assert lines[at + 1].split()[:1] == ["difference"]
    assert "±" in lines[at + 1]

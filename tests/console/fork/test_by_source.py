"""Runs side by side source by source: paired on the rows that all share."""

from typing import Any

import pytest

from console.fork.by_source import by_source, rows_by_source

DOCS, CODE = {"d1": 1.0, "d2": 2.0}, {"c1": 3.0, "c2": 4.0}


def _audit(**sources: dict[str, float]) -> dict[str, Any]:
    return {
        "val_rows": {row: loss for rows in sources.values() for row, loss in rows.items()},
        "val_row_counts": {name: len(rows) for name, rows in sources.items()},
        "val_losses": {name: sum(rows.values()) / len(rows) for name, rows in sources.items()},
    }


def test_each_source_is_paired_on_the_rows_that_all_share() -> None:
    other = _audit(docs={"d2": 2.5, "d9": 9.0}, code={"c1": 3.0, "c2": 3.0})
    docs, code = by_source([_audit(docs=DOCS, code=CODE), other])
    assert (docs.name, docs.rows, docs.losses) == ("docs", 1, (2.0, 2.5))
    assert (code.name, code.rows, code.losses) == ("code", 2, (3.5, 3.0))
    assert docs.against_first[0] is None
    assert [paired and paired.mean for paired in code.against_first] == [None, -0.5]


def test_a_source_without_shared_rows_shows_each_runs_own_and_no_difference() -> None:
    (docs, code) = by_source([_audit(docs=DOCS), _audit(docs={"x": 5.0}, code=CODE)])
    assert (docs.rows, docs.losses, docs.against_first) == (0, (1.5, 5.0), (None, None))
    assert (code.rows, code.losses) == (0, (None, 3.5))


def test_a_source_under_another_name_is_paired_by_its_rows() -> None:
    found = by_source([_audit(docs=DOCS), _audit(manual=DOCS)])
    assert [(each.name, each.rows) for each in found] == [("docs", 2), ("manual", 2)]


def test_rows_of_a_version_that_told_no_counts_are_sixteen_of_each_source() -> None:
    rows = {f"r{n}": float(n) for n in range(32)}
    old = {"val_rows": rows, "val_losses": {"docs": 7.5, "code": 23.5}}
    assert list(rows_by_source(old)["code"]) == [f"r{n}" for n in range(16, 32)]


@pytest.mark.parametrize("odd", [{}, {"val_rows": 3}, {"val_rows": {"r": 1.0}, "val_losses": 4}])
def test_an_audit_that_tells_no_rows_has_none(odd: dict[str, Any]) -> None:
    assert not any(rows_by_source(odd).values())
    assert by_source([odd, odd]) == ()

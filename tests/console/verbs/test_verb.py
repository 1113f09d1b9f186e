"""How a verb answers."""

import json

import pytest

from console.verbs.verb import print_json


def test_names_that_are_no_utf_8_are_spelled_out_in_strict_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_json({"run": "a\udcff", "alarms": ("lost: b\udc80", 1, None)})
    assert json.loads(capsys.readouterr().out) == {
        "run": "a\\xff",
        "alarms": ["lost: b\\x80", 1, None],
    }

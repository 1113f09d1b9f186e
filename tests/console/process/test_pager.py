"""The operator's pager."""

from pathlib import Path

import pytest

from console.process.launch import run_in_terminal
from console.process.pager import pager_command


@pytest.mark.parametrize(
    ("pager", "command"),
    [
        ("", ["less", "-n", "+7P"]),
        ("/usr/bin/less -S", ["/usr/bin/less", "-S", "-n", "+7P"]),
        ("more", ["more"]),
        ("'unclosed", ["less", "-n", "+7P"]),
    ],
)
def test_less_opens_at_the_byte_and_another_pager_at_the_beginning(
    pager: str, command: list[str]
) -> None:
    path = Path("-run") / "trainer.log"
    assert pager_command({"PAGER": pager}, path, 7) == [*command, "--", "-run/trainer.log"]


def test_a_pager_that_isnt_there_is_told_in_words_and_one_that_fails_is_its_own_matter() -> None:
    assert run_in_terminal(["no-such-pager"]) == "no-such-pager: No such file or directory"
    assert run_in_terminal(["false"]) == ""

import pytest

from trainer.rundir.outcomes import (
    EXIT_WORDS,
    Exit,
    GateError,
    HistoryError,
    LockedError,
    NonFiniteError,
    RunError,
    SaveError,
    SettingsError,
)


def test_the_exit_codes_are_the_contracts_and_each_has_its_words() -> None:
    assert sorted(Exit) == [0, 1, 2, 3, 4, 5, 6, 10, 130, 143]
    assert set(EXIT_WORDS) == set(Exit)
    assert len(set(EXIT_WORDS.values())) == len(Exit)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RunError, 1),
        (SettingsError, 2),
        (HistoryError, 2),
        (NonFiniteError, 3),
        (SaveError, 4),
        (LockedError, 5),
        (GateError, 6),
    ],
)
def test_each_error_carries_its_exit_code(error: type[RunError], code: int) -> None:
    assert error("why").exit_code == code


def test_a_wrong_setting_is_a_value_error() -> None:
    assert issubclass(SettingsError, ValueError)

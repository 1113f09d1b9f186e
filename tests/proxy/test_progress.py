"""Work that a library does without looking up can be given up."""

import threading

import pytest

from trainer.proxy.progress import interruptible, is_work_left


def test_result_and_error_of_the_work_come_through() -> None:
    assert interruptible(lambda: 42, lambda: None) == 42
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0, lambda: None)
    assert not is_work_left()


def test_work_that_never_ends_is_given_up_and_known_to_be_left() -> None:
    goes_on, before = threading.Event(), threading.enumerate()

    def check() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        interruptible(goes_on.wait, check)
    assert is_work_left()
    (left,) = (thread for thread in threading.enumerate() if thread not in before)
    goes_on.set()
    left.join(10)
    assert not is_work_left()

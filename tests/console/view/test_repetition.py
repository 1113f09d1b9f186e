"""Where a text repeats itself."""

from hypothesis import given
from hypothesis import strategies as st

from console.view.repetition import repeated_share, repeated_spans


def test_the_second_time_is_marked_and_not_the_first() -> None:
    text = "the end of the file is what The end of the line is"
    assert [text[start:end] for start, end in repeated_spans(text)] == ["The end of the"]
    assert repeated_share(text) == 4 / 13


def test_a_loop_is_one_stretch() -> None:
    text = "go on and on " * 10
    assert repeated_spans(text) == ((13, len(text) - 1),)


def test_a_text_without_repetition_has_none() -> None:
    assert repeated_spans("one two three four five six") == ()
    assert repeated_share("") == 0.0


@given(st.text())
def test_stretches_lie_in_the_text_in_order_and_apart(text: str) -> None:
    ends = [end for span in repeated_spans(text) for end in span]
    assert ends == sorted(set(ends))
    assert all(0 <= end <= len(text) for end in ends)

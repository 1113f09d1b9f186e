"""Which samples of several runs are put side by side."""

from typing import Any

from console.fork.comparison import SharedSample, shared_samples


def record(**texts: str) -> dict[str, Any]:
    """An audit with a sample behind each prompt, `none` for the empty one, scored by its length."""
    samples = [
        {"prompt": "" if prompt == "none" else prompt, "text": text, "score": float(len(text))}
        for prompt, text in texts.items()
    ]
    more = {"samples": samples} if len(samples) > 1 else {}
    return {"step": 100, **samples[0], **more}


def test_prompts_that_all_have_are_compared_in_the_first_runs_order() -> None:
    first, second = record(none="one", a="two", b="three"), record(none="1", b="333", c="4", a="22")
    of_first, of_second = shared_samples([first, second])
    assert [each.prompt for each in of_first] == ["", "a", "b"]
    assert [each.text for each in of_second] == ["1", "22", "333"]
    assert of_second[1] == SharedSample(prompt="a", text="22", score=2.0)


def test_a_run_of_one_prompt_is_compared_by_that_one() -> None:
    of_both = shared_samples([record(none="one"), record(none="1", a="2")])
    assert [[each.text for each in samples] for samples in of_both] == [["one"], ["1"]]


def test_runs_that_share_no_prompt_or_no_audit_share_no_sample() -> None:
    assert shared_samples([record(none="one"), record(a="1")]) == [(), ()]
    assert shared_samples([record(none="one"), {}]) == [(), ()]

"""Keys that come in one packet, as over SSH, act as if they had come one after the other."""

from pathlib import Path

from tests.integration.terminal import Terminal, needs_tmux
from tests.tiny import make_tiny_run
from trainer.rundir.records.record_file import RecordArray

pytestmark = needs_tmux


def test_each_key_of_a_packet_finds_what_the_one_before_it_left(
    terminal: Terminal, tmp_path: Path
) -> None:
    run = make_tiny_run(tmp_path / "v3")
    array = RecordArray(run.loss)
    array.pending += [b'{"step":%d,"loss":3,"ema":3}' % step for step in range(1, 62_001)]
    array.flush()
    array.close()
    run.log.write_text("a line\n")
    terminal.console("console", run.path, "--read-only")
    terminal.resize("console", 80, 24)
    terminal.wait_for("console", "all steps")

    terminal.press("console", "5")
    terminal.wait_for("console", "a line")
    terminal.paste("console", "1g61300\r", bracketed=False)
    terminal.wait_for("console", "61,300 ")

    terminal.press("console", "5")
    terminal.wait_for("console", "a line")
    terminal.paste("console", "1f+", bracketed=False)
    terminal.wait_for("console", "last 31,000 steps")

    terminal.paste("console", "5/1234", bracketed=False)
    terminal.wait_for("console", "/1234")

    terminal.paste("console", "\r1", bracketed=False)
    terminal.wait_for("console", "last 31,000 steps")
    terminal.paste("console", "4f1-", bracketed=False)
    screen = terminal.wait_for("console", "all steps")
    assert "does nothing here" not in screen

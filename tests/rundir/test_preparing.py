"""How far a preparation is, in words."""

from trainer.rundir.preparing import Preparing


def test_words_tell_files_bytes_speed_and_time_left() -> None:
    preparing = Preparing(
        source="web",
        files_done=3,
        files=1_200,
        bytes_done=1_200_000_000,
        bytes=96_000_000_000,
        bytes_per_second=17_500_000.0,
        seconds_left=5_417.0,
    )
    told = "preparing web: 3 of 1,200 files, 1.20 of 96.00 GB, 17.5 MB/s, 1:30 h left"
    assert preparing.words == told


def test_words_leave_out_what_is_not_known() -> None:
    assert Preparing(source="web", files=2, bytes=4_000_000).words == (
        "preparing web: 0 of 2 files, 0.00 of 4.00 MB"
    )
    assert Preparing(source="docs").words == "preparing docs"

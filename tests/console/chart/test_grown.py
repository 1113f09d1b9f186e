"""What is kept of a history that grows is what would be made of it anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.chart import by_arm
from console.chart.by_arm import BLOCK
from console.chart.chart_data import ChartData, Look
from console.chart.glyphs import UNICODE
from console.chart.grid import Unit, x_of
from console.chart.kept import Kept
from console.chart.lines import line_of
from console.chart.plot import draw
from console.chart.series import Series
from console.chart.track import Track
from console.chart.viewport import Viewport

NAN = float("nan")


def append(series: Series, steps: list[int], *, seed: int, unknown: bool = False) -> None:
    noise = np.random.default_rng(seed)
    n = len(steps)
    loss = noise.normal(2.0, 0.5, n)
    loss[noise.random(n) < 0.2] = NAN
    series.append_many(
        steps,
        loss,
        loss,
        t=np.full(n, NAN) if unknown else 1e9 + np.array(steps) - 50.0 * (noise.random(n) < 0.1),
        tokens=np.where(noise.random(n) < 0.1, NAN, 100.0),
        reward=noise.random(n),
        arm=series.codes_of([f"arm {int(number)}" for number in noise.integers(0, 4, n)]),
    )


@given(
    st.lists(st.tuples(st.integers(1, 400), st.integers(0, 5)), min_size=1, max_size=12),
    st.booleans(),
)
def test_however_a_history_comes_what_follows_from_it_is_the_same(
    parts: list[tuple[int, int]], begins_unknown: bool
) -> None:
    series, kept, last = Series(), Kept(), 0
    for seed, (size, back) in enumerate(parts):
        first = max(last - back, 0) + 1
        append(
            series,
            list(range(first, first + size)),
            seed=seed,
            unknown=begins_unknown and seed < 2,
        )
        last = max(last, first + size - 1)
        view = series.view()
        for strength in (0.9, 0.999):
            found, wanted = (line_of(Track.LOSS, view, strength, each) for each in (kept, Kept()))
            assert found == pytest.approx(wanted, rel=1e-9, nan_ok=True)
        for unit in Unit:
            assert x_of(view, unit, kept) == pytest.approx(x_of(view, unit, Kept()))


@pytest.mark.parametrize("track", [Track.LOSS_BY_ARM, Track.REWARD, Track.SHARE])
def test_curves_by_arm_from_blocks_are_those_from_the_records(
    track: Track, monkeypatch: pytest.MonkeyPatch
) -> None:
    series, kept = Series(), Kept()
    for seed, size in enumerate((10, BLOCK - 3, 5 * BLOCK, 1, 30 * BLOCK + 7, BLOCK)):
        first = len(series) + 1 - (seed == 4) * 3
        append(series, list(range(first, first + size)), seed=seed)
        data = ChartData(series=series.view())
        for span in (None, 40, 700, 3000):
            look = Look(tracks=(track,), viewport=Viewport(span=span))
            found = curves(data, look, kept)
            with monkeypatch.context() as patched:
                patched.setattr(by_arm, "BLOCK", 1 << 40)
                wanted = curves(data, look, Kept())
            assert found.keys() == wanted.keys()
            for name, (low, is_empty) in found.items():
                assert low == pytest.approx(wanted[name][0], rel=1e-9, nan_ok=True)
                assert (is_empty == wanted[name][1]).all()


def curves(data: ChartData, look: Look, kept: Kept) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    panel = draw(data, look, UNICODE, width=40, height=12, kept=kept).panel
    assert panel is not None
    assert panel.curves
    return {each.name: (each.buckets.low, each.buckets.is_empty) for each in panel.curves}

"""The chart widget in a running app."""

from __future__ import annotations

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.color import Color
from textual.geometry import Region

from console.chart.axis import Scale
from console.chart.cell_rows import Ink
from console.chart.chart_data import ChartData, Look
from console.chart.glyphs import ASCII, UNICODE, Glyphs
from console.chart.plot import draw
from console.chart.series import Series
from console.chart.step_marks import Mark, MarkKind
from console.chart.viewport import Viewport
from console.ui.messages import StepChosen
from console.ui.widgets.loss_chart import LossChart


class ChartApp(App[None]):
    """The chart alone, in a border as it has in the console."""

    CSS = "LossChart { border: round $primary; }"

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.chart = LossChart(glyphs=glyphs)
        self.chosen: list[int | None] = []

    def compose(self) -> ComposeResult:
        yield self.chart

    def on_mount(self) -> None:
        self.chart.focus()

    def on_step_chosen(self, event: StepChosen) -> None:
        self.chosen.append(event.step)


def history(records: int = 2000) -> Series:
    series = Series()
    losses = [2 + 100 / (step + 10) for step in range(records)]
    series.append_many(range(1, records + 1), losses, losses)
    return series


def on_screen(chart: LossChart) -> list[str]:
    """What the widget gives the compositor for its content, row by row."""
    content = Region(chart.gutter.left, chart.gutter.top, *chart.content_size)
    return [strip.text for strip in chart.render_lines(content)]


def drawn(chart: LossChart, glyphs: Glyphs = UNICODE) -> list[str]:
    width, height = chart.content_size
    rows = draw(chart.data, chart.look, glyphs, width=width, height=height).rows
    return ["".join(run.text for run in row) for row in rows]


async def test_empty_chart_says_that_there_is_no_step_yet() -> None:
    app = ChartApp()
    async with app.run_test(size=(60, 16)):
        assert any("no step yet" in row for row in on_screen(app.chart))


async def test_screen_follows_new_data_and_every_key() -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        series = history()
        app.chart.show(ChartData(series=series.view()))
        await pilot.pause()
        assert on_screen(app.chart) == drawn(app.chart)
        series.append_many([2001], [9.0], [3.0])
        app.chart.show(ChartData(series=series.view()))
        await pilot.pause()
        assert "loss 9.0000" in on_screen(app.chart)[0]
        for key in (
            "l",
            "plus",
            "l",
            "equals_sign",
            "left",
            "right",
            "s",
            "S",
            "x",
            "m",
            "0",
            "home",
            "n",
            "f",
        ):
            await pilot.press(key)
            assert on_screen(app.chart) == drawn(app.chart)


async def test_l_changes_the_scale() -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("l")
        assert app.chart.look == Look(scale=Scale.LINEAR)


async def test_zooming_without_a_cursor_stays_with_the_newest() -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        series = history()
        app.chart.show(ChartData(series=series.view()))
        await pilot.press("minus")
        assert app.chart.look.viewport == Viewport()
        await pilot.press("plus", "plus")
        assert app.chart.look.viewport == Viewport(span=500)
        series.append_many([2001], [9.0], [3.0])
        app.chart.show(ChartData(series=series.view()))
        await pilot.pause()
        assert "last 500 steps" in on_screen(app.chart)[1]
        seen = []
        for _ in range(2):
            await pilot.press("0")
            seen.append(app.chart.look.viewport)
        assert seen == [Viewport(), Viewport()], "who is there already wants to stay"


async def test_a_typed_step_that_is_not_recorded_leads_to_the_nearest_and_says_so() -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.show(ChartData(series=history().view()))
        await pilot.press("g", *"999999", "enter")
        assert app.chart.look.cursor == 2000
        (told,) = (toast.message for toast in app._notifications)
        assert told == "step 999,999 is not recorded: the history goes from 1 to 2,000"


async def test_typed_step_is_read_and_told_and_escape_takes_it_away() -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.show(ChartData(series=history().view()))
        await pilot.press("g", *"123", "backspace", "enter")
        assert app.chart.look.cursor == 12
        assert "step 12 · loss 6.7619" in on_screen(app.chart)[0]
        assert on_screen(app.chart) == drawn(app.chart)
        await pilot.press("g", "9", "escape")
        assert app.chosen == [12], "Esc ends the typing first"
        await pilot.press("escape")
        assert app.chosen == [12, None]


async def test_digits_that_are_typed_reach_nothing_else() -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.show(ChartData(series=history().view()))
        await pilot.press("g", *"10", "l", "0")
        assert app.chart.look == Look(typed="100")


async def test_a_click_reads_the_record_that_is_drawn_there() -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        losses = [2.0] * 2000
        losses[999] = 40.0
        series = Series()
        series.append_many(range(1, 2001), losses, losses)
        app.chart.show(ChartData(series=series.view()))
        await pilot.pause()
        column = on_screen(app.chart)[1].index("▲")
        await pilot.click(LossChart, offset=(column + 1, 2))
        assert app.chart.look.cursor == 1000
        assert "loss 40.0000" in on_screen(app.chart)[0]


async def test_the_wheel_zooms_where_the_pointer_is_and_pans_with_shift() -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.show(ChartData(series=history().view()))
        await pilot.pause()

        async def turn(kind: type[events.MouseEvent], *, shift: bool = False) -> Viewport:
            app.chart.post_message(kind(app.chart, 28, 8, 0, 0, 0, shift, False, False))
            await pilot.pause()
            return app.chart.look.viewport

        near = await turn(events.MouseScrollUp)
        assert near.span == 1000
        assert near.last is not None
        assert 1240 < near.last < 1290, "a quarter of the run lies left of the pointer"
        panned = await turn(events.MouseScrollUp, shift=True)
        assert panned == Viewport(span=1000, last=near.last - 250)
        assert await turn(events.MouseScrollDown) == Viewport()


async def test_a_drag_shows_what_it_spans() -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.show(ChartData(series=history().view()))
        await pilot.pause()
        await pilot.mouse_down(LossChart, offset=(20, 8))
        await pilot.hover(LossChart, offset=(40, 8))
        await pilot.mouse_up(LossChart, offset=(40, 8))
        viewport = app.chart.look.viewport
        assert viewport.span is not None
        assert 500 < viewport.span < 650
        assert viewport.last is not None
        assert 850 < viewport.last < 1000


async def test_following_a_selection_tells_nothing_back() -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.show(ChartData(series=history().view()))
        app.chart.select(700)
        await pilot.pause()
        seen = [app.chart.look.cursor]
        app.chart.select(None)
        await pilot.pause()
        assert [*seen, app.chart.look.cursor] == [700, None]
        assert app.chosen == []


async def test_the_same_look_again_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.show(ChartData(series=history().view()))
        await pilot.press("end", "home")
        refreshed: list[tuple[Region, ...]] = []
        monkeypatch.setattr(app.chart, "refresh", lambda *regions: refreshed.append(regions))
        await pilot.press("home", "left", "left_square_bracket")
        assert refreshed == []


async def test_same_data_again_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        series = history()
        app.chart.show(ChartData(series=series.view()))
        await pilot.pause()
        refreshed: list[tuple[Region, ...]] = []
        monkeypatch.setattr(app.chart, "refresh", lambda *regions: refreshed.append(regions))
        app.chart.show(ChartData(series=series.view()))
        await pilot.pause()
        assert refreshed == []


async def test_only_changed_rows_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        series = history()
        app.chart.show(ChartData(series=series.view()))
        await pilot.pause()
        refreshed: list[tuple[Region, ...]] = []
        monkeypatch.setattr(app.chart, "refresh", lambda *regions: refreshed.append(regions))
        series.append_many([2001], [2.1234], [2.0497])
        app.chart.show(ChartData(series=series.view()))
        await pilot.pause()
        (regions,) = refreshed
        assert 0 in {region.y for region in regions}
        assert len(regions) < app.chart.content_size.height


async def test_labels_are_never_markup() -> None:
    app = ChartApp()
    label = "[bold red]x[/] [@click=app.quit]quit[/] \x1b]0;title\x07"
    async with app.run_test(size=(120, 24)) as pilot:
        marks = (Mark(step=100, label=label, kind=MarkKind.PHASE),)
        app.chart.show(ChartData(series=history().view(), marks=marks))
        await pilot.pause()
        row = on_screen(app.chart)[1]
        assert "[bold red]x[/] [@click=app.quit]quit[/] ]0;title" in row
        assert row.isprintable()


async def test_ascii_glyphs_reach_the_screen() -> None:
    app = ChartApp(ASCII)
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.show(ChartData(series=history().view()))
        await pilot.pause()
        assert on_screen(app.chart) == drawn(app.chart, ASCII)
        assert all(row.isascii() for row in on_screen(app.chart))


def test_environment_chooses_the_glyphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANDREA_ASCII", "1")
    assert LossChart()._glyphs is ASCII


async def test_any_size_from_one_cell_up_is_drawn() -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        marks = (Mark(step=100, label="phase 2", kind=MarkKind.PHASE),)
        app.chart.show(ChartData(series=history().view(), marks=marks))
        for size in ((1, 1), (3, 3), (4, 3), (20, 5), (26, 8), (300, 100), (3, 50), (80, 24)):
            await pilot.resize_terminal(*size)
            assert on_screen(app.chart) == drawn(app.chart)


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "solarized-light", "nord"])
async def test_every_ink_stands_out_from_the_background(theme: str) -> None:
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.theme = theme
        await pilot.pause()
        for ink in (Ink.RAW, Ink.SMOOTH, Ink.PHASE, Ink.RESTART, Ink.TEXT):
            style = app.chart.get_component_rich_style(f"loss-chart--{ink.name.lower()}")
            assert style.color is not None
            assert style.bgcolor is not None
            colour, background = map(Color.from_rich_color, (style.color, style.bgcolor))
            difference = abs(colour.brightness - background.brightness)
            assert difference > 0.2, f"{ink.name} on {theme}"


async def test_no_color_shows_the_same_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = ChartApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.show(ChartData(series=history().view()))
        await pilot.pause()
        assert on_screen(app.chart) == drawn(app.chart)
        assert "loss" in app.export_screenshot()


def test_bindings_have_ids_and_tooltips() -> None:
    bindings = [binding for binding in LossChart.BINDINGS if isinstance(binding, Binding)]
    assert len(bindings) == len(LossChart.BINDINGS)
    assert all(binding.id and binding.tooltip for binding in bindings)

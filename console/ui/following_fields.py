"""The app's part that reads the trainer's own fields for the chart, if they are asked for."""

import asyncio
from collections.abc import Sequence

from textual import work
from textual.reactive import var

from console.chart.chart_data import Points
from console.chart.navigation import known_tracks
from console.chart.track import AnyTrack, Field
from console.ui.overlaying import OverlayingApp
from console.ui.screens.tracks import TracksScreen
from console.ui.widgets.loss_chart import LossChart
from console.view.field_history import FieldHistory
from trainer.rundir.records.loss_fields import numeric_fields

LOOK_SECONDS = 2.0
"""How often what is new of them is read."""


class FieldsApp(OverlayingApp):
    """Reads them in threads; what was read is kept as long as the field is drawn."""

    fields: var[tuple[Points, ...]] = var(())
    """Those that are drawn, as far as they were read."""

    def on_loss_chart_tracks_asked(self, event: LossChart.TracksAsked) -> None:
        chart = event.chart

        def take(tracks: tuple[AnyTrack, ...] | None) -> None:
            if tracks is not None:
                chart.show_tracks(tracks)
                self._follow_fields([track.name for track in tracks if isinstance(track, Field)])

        known = known_tracks(chart.data)
        path = self._run_shown.loss
        screen = TracksScreen(known, chart.look.tracks, lambda: numeric_fields(path))
        self.push_screen(screen, take)

    @work(group="fields", exclusive=True)
    async def _follow_fields(self, names: Sequence[str]) -> None:
        followed = [FieldHistory(self._run_shown.loss, name) for name in names]
        while followed:
            for each in followed:
                await asyncio.to_thread(each.look)
            if (points := tuple(each.points for each in followed)) != self.fields:
                self.fields = points
            await asyncio.sleep(LOOK_SECONDS)
        self.fields = ()

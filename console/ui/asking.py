"""The app's part that answers what is asked about a step."""

from console.process.batch_text import batch_text_soon
from console.ui.following_fields import FieldsApp
from console.ui.screens.batch import BatchScreen
from console.ui.widgets.loss_chart import LossChart
from trainer.rundir.batch import Batch


class AskingApp(FieldsApp):
    """Each answer is a process's of its own, which ends with its screen."""

    def on_loss_chart_text_asked(self, event: LossChart.TextAsked) -> None:
        run = self._run_shown

        async def ask(step: int, with_losses: bool) -> Batch:
            return await batch_text_soon(run, step, with_losses=with_losses)

        self.push_screen(BatchScreen(run, event.step, ask))

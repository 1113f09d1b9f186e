"""The machine under the run, in a line that is always in sight."""

from textual.content import Content

from console.ui.widgets.machine_lines import machine_lines
from console.ui.widgets.rows import Rows
from console.view.machine import Machine


class MachineStrip(Rows):
    """Draws `machine_lines`."""

    def __init__(self) -> None:
        super().__init__(Content())

    def show(self, machine: Machine) -> None:
        """Show this sample, in the terminal's present size."""
        self.show_lines(machine_lines(machine, self.line_cells, self.app.size.height))

"""The bandit pane: a line an arm, and the zombies that no longer count."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from console import formatting
from console.ui.theme import ACCENT, DIM, RED
from console.ui.widgets.line_view import LineView
from console.ui.widgets.text import Columns, bar, columns_within, foreign, left, names_within, right
from console.view.run_view import ArmRow, RunView
from trainer.rundir.state import Zombie

_LEAST_NAME, _USUAL_NAME = 10, 26
"""Cells of the names: at least, and at most unless there are longer ones."""
_BAR_CELLS = 8

_COLUMNS: Columns = (
    ("pulls", 8),
    ("prob", 8),
    ("weight", 7),
    ("held at", 8),
    ("reward", 7),
    ("floor", 6),
    ("cap", 6),
)


class BanditPane(LineView):
    """Shows the arms, the most probable first, and zombies in red under them."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._view: tuple[tuple[ArmRow, ...], tuple[Zombie, ...]] = ((), ())

    def show(self, view: RunView) -> None:
        """Show this view's arms and zombies."""
        self._view = (view.arms, view.zombies)
        self.show_titles("3 bandit", title_of(view.arms, len(view.zombies)))
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        lines = bandit_lines(*self._view, width=self.line_width)
        self.show_lines(len(lines), lines.__getitem__)


def title_of(arms: Sequence[ArmRow], zombies: int) -> str:
    """What is to be known of all arms: how many are dead, and whether the bandit is."""
    live = [arm.state for arm in arms if arm.state.available]
    is_fixed = len(live) > 1 and all(arm.held_at for arm in live)
    words = ["every arm held at a bound: rewards change nothing"] if is_fixed else []
    if zombies:
        words.append(f"{zombies} zombie{'s' * (zombies > 1)}")
    return ", ".join(words)


def bandit_lines(arms: Sequence[ArmRow], zombies: Sequence[Zombie], *, width: int) -> list[Content]:
    """A heading, a line an arm, a line a zombie; as many columns as `width` cells allow."""
    if not arms and not zombies:
        return [Content.styled("no arm known yet", DIM)]
    columns = columns_within(_COLUMNS, width - _LEAST_NAME)
    taken = sum(cells for _, cells in columns)
    ordered = sorted(arms, key=lambda arm: (-(arm.state.probability or 0.0), arm.name))
    names = [foreign(arm.name) for arm in ordered] + [foreign(zombie.arm) for zombie in zombies]
    widest = max(_USUAL_NAME, *map(cell_len, names))
    name_cells = min(max(width - taken - _BAR_CELLS - 2, _LEAST_NAME), widest)
    has_bar = width >= name_cells + taken + _BAR_CELLS + 2
    heading = left("arm", name_cells) + "".join(right(name, cells) for name, cells in columns)
    shown = [left(name, name_cells) for name in names_within(names, name_cells)]
    of_arms, of_zombies = shown[: len(arms)], shown[len(arms) :]
    lines = [Content.styled(heading, DIM)]
    lines += [
        _arm_line(arm, name, columns, has_bar=has_bar)
        for arm, name in zip(ordered, of_arms, strict=True)
    ]
    lines += [_zombie_line(zombie, name) for zombie, name in zip(zombies, of_zombies, strict=True)]
    return lines


def _arm_line(arm: ArmRow, name: str, columns: Columns, *, has_bar: bool) -> Content:
    state = arm.state
    values = {
        "pulls": formatting.steps(state.pulls),
        "prob": formatting.percent(state.probability, 1),
        "weight": formatting.number(state.weight, 3),
        "held at": state.held_at,
        "reward": formatting.number(state.ema_reward, 3),
        "floor": formatting.number(state.floor, 2),
        "cap": formatting.number(state.cap, 2),
    }
    cells = "".join(right(values[column], width) for column, width in columns)
    if not state.available:
        return Content.styled(f"{name}{cells}  gone", RED)
    full, rest = bar(state.probability or 0.0, _BAR_CELLS) if has_bar else ("", "")
    return Content.assemble(name, cells, "  " * has_bar, (full, ACCENT), (rest, DIM))


def _zombie_line(zombie: Zombie, name: str) -> Content:
    facts = [f"{formatting.steps(zombie.pulls)} pulls"]
    if zombie.weight is not None:
        facts.append(f"weight {formatting.number(zombie.weight, 3)}")
    facts.append(foreign(zombie.reason))
    return Content.styled(f"{name} zombie: {', '.join(fact for fact in facts if fact)}", RED)

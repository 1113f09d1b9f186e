"""The keys that work on the whole console; each has an id, so that a key map can move it."""

from textual.binding import Binding, BindingType

CHANGING = frozenset(
    {"run.checkpoint", "run.pivot", "run.resume", "checkpoints.fork", "checkpoints.thin"}
)
"""The keys, by id, that a read-only console doesn't offer; pressed all the same, it says why."""

READ_ONLY_WORDS = {"run.quit": "The same as d"}
"""What help says there of keys, by id, that do less."""

KEYS: list[BindingType] = [
    Binding(
        "c",
        "checkpoint",
        "Checkpoint",
        id="run.checkpoint",
        tooltip="Write a checkpoint now; training goes on",
    ),
    Binding(
        "p",
        "pivot",
        "Pivot",
        id="run.pivot",
        tooltip="Change the policy: a wizard that asks first",
    ),
    Binding(
        "r",
        "resume",
        "Resume",
        id="run.resume",
        tooltip="Start the trainer at the newest checkpoint",
    ),
    Binding(
        "q",
        "ask_quit",
        "Quit",
        id="run.quit",
        tooltip="Asks: stop training gracefully, or detach",
    ),
    Binding(
        "ctrl+q",
        "ask_quit",
        "Quit",
        show=False,
        id="run.quit_too",
        tooltip="The same as q",
    ),
    Binding(
        "d",
        "detach",
        "Detach",
        id="run.detach",
        tooltip="Close the console at once; training goes on",
    ),
    Binding(
        "ctrl+c",
        "detach",
        "Detach",
        show=False,
        priority=True,
        id="run.interrupt",
        tooltip="The same as d; no signal reaches the trainer",
    ),
    Binding("question_mark", "help", "Help", id="app.help", tooltip="All keys"),
]

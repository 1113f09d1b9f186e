"""A pivot walked in a thread, step by step, for as long as the console is open."""

import asyncio
from collections.abc import Callable

from console.pivot_desk import Pivots
from console.pivot_story import Story
from trainer.rundir.outcomes import RunError


async def walk_pivot(pivots: Pivots, story: Story, tell: Callable[[Story], None]) -> None:
    """Go on from `story` to the pivot's end, or to where it halts; tells each that is new.

    Given up at any moment, the pivot's journal knows where to go on.
    """
    tell(story)
    walk = pivots.walk()
    try:
        while (progress := await asyncio.to_thread(next, walk, None)) is not None:
            before, story = story, story.after(progress)
            if story != before:
                tell(story)
    except (RunError, OSError) as error:
        tell(story.halted(str(error)))

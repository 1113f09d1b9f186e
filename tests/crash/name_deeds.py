"""What somebody may do to the names of a run's directory, or of its lock, while it is trained."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.recording import Recorder
from trainer.rundir.layout import RunDirectory
from trainer.rundir.lock import TrainerLock
from trainer.rundir.outcomes import Exit, LockedError

MOVED = "run directory moved: "
LOST = "lock lost: trainer.lock "
DELETED = ": was deleted while it was trained"
TAKEN = "another trainer has locked a new one"


@dataclass(kw_only=True)
class Scene:
    """A run that is trained, beside another one whose files have the same names."""

    run: RunDirectory
    other: RunDirectory
    recorder: Recorder
    now: RunDirectory = field(init=False)
    """The run under its present name."""
    is_done: bool = False
    wrong: list[str] = field(default_factory=list)
    strange_lock: TrainerLock | None = None

    def __post_init__(self) -> None:
        self.now = self.run

    def move_to(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        self.recorder.directory = path
        self.now.path.rename(path)
        self.now = RunDirectory(path)

    def put_other_in_place(self) -> None:
        """The other run gets the name that this one had."""
        self.other.path.rename(self.run.path)
        self.other = self.run

    def require_refusal(self) -> None:
        """A second trainer can't start, whatever became of the lock's name."""
        try:
            TrainerLock(self.now.lock).release()
        except LockedError:
            return
        self.wrong.append("a second trainer could start")

    def end(self) -> None:
        if self.strange_lock is not None:
            self.strange_lock.release()


def rename(scene: Scene) -> None:
    scene.move_to(scene.run.path.with_name("renamed"))


def move(scene: Scene) -> None:
    scene.move_to(scene.run.path.parent / "elsewhere" / scene.run.path.name)


def move_there_and_back(scene: Scene) -> None:
    move(scene)
    scene.move_to(scene.run.path)


def replace(scene: Scene) -> None:
    rename(scene)
    scene.put_other_in_place()


def delete(scene: Scene) -> None:
    shutil.rmtree(scene.run.path)


def delete_and_replace(scene: Scene) -> None:
    delete(scene)
    scene.put_other_in_place()


def unlink_lock(scene: Scene) -> None:
    scene.run.lock.unlink(missing_ok=True)
    scene.require_refusal()


def rename_lock(scene: Scene) -> None:
    scene.run.lock.rename(scene.run.path / "x")
    scene.require_refusal()


def replace_lock(scene: Scene) -> None:
    beside = scene.run.path.with_name("another machine")
    shutil.copyfile(scene.run.lock, beside)
    beside.rename(scene.run.lock)
    scene.require_refusal()


def take_lock(scene: Scene) -> None:
    """As a trainer on another machine may, which can't see that the directory is locked."""
    scene.run.lock.unlink()
    elsewhere = scene.run.path.parent / "another machine"
    elsewhere.mkdir()
    scene.strange_lock = TrainerLock(elsewhere / scene.run.lock.name)
    os.link(elsewhere / scene.run.lock.name, scene.run.lock)


@dataclass(frozen=True, kw_only=True)
class Deed:
    act: Callable[[Scene], None]
    told: str
    """What the trainer says, within a step; nothing: there is nothing to say."""
    end: Exit = Exit.FINISHED
    """How the training ends."""

    @property
    def keeps_run(self) -> bool:
        """Whether the run's files are there afterwards."""
        return self.told != DELETED


DEEDS = {
    deed.act.__name__: deed
    for deed in (
        Deed(act=rename, told=MOVED),
        Deed(act=move, told=MOVED),
        Deed(act=move_there_and_back, told=""),
        Deed(act=replace, told=MOVED),
        Deed(act=delete, told=DELETED, end=Exit.SAVE_FAILED),
        Deed(act=delete_and_replace, told=DELETED, end=Exit.SAVE_FAILED),
        Deed(act=unlink_lock, told=LOST),
        Deed(act=rename_lock, told=LOST),
        Deed(act=replace_lock, told=LOST),
        Deed(act=take_lock, told=TAKEN, end=Exit.LOCKED),
    )
}

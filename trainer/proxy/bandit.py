"""The bandit that picks each step's source: UCB1 over averaged rewards, with floors and caps."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from trainer.proxy.randomness import derive_uniform
from trainer.rundir.config.policy import (
    LOSS_MEMORY_PULLS,
    REWARD_MEMORY_PULLS,
    Earned,
    probabilities_of,
    weights_of,
)
from trainer.rundir.config.settings import ArmPolicy
from trainer.rundir.outcomes import SettingsError
from trainer.rundir.records.loss_record import LossRecord
from trainer.rundir.state import ArmState, Zombie


class PolicyError(SettingsError):
    """The policy leaves no arm that could be pulled."""


@dataclass(slots=True)
class _Arm:
    pulls: int = 0
    ema_reward: float | None = None
    ema_loss: float | None = None
    tokens: int = 0

    def update(self, loss: float | None, reward: float | None, tokens: int) -> None:
        self.pulls += 1
        self.tokens += tokens
        self.ema_loss = _moved(self.ema_loss, loss, LOSS_MEMORY_PULLS)
        self.ema_reward = _moved(self.ema_reward, reward, REWARD_MEMORY_PULLS)


def _moved(average: float | None, value: float | None, memory_pulls: int) -> float | None:
    if value is None:  # a value that was not finite is null on file
        return average
    return value if average is None else average + (value - average) / memory_pulls


class Bandit:
    """The arms of one phase; its state is a fold over the phase's loss records and nothing else.

    Weights and probabilities are those of `trainer.rundir.config.policy`. Only arms whose source
    exists now are in a sum. Others that the records, the policy or an older `.state.json` know are
    zombies: counted and reported, but pulled by nothing.
    """

    def __init__(
        self,
        *,
        seed: int,
        phase: int,
        available: Collection[str],
        policy: Mapping[str, ArmPolicy],
        remembered: Mapping[str, ArmState] | None = None,
    ) -> None:
        """`available`: sources that exist now; `policy`: bounds, also of sources that are gone.

        `remembered`: the arms of an older `.state.json`; taken for reporting zombies only.

        Raises:
            PolicyError: no source exists, or all their caps are 0.
        """
        self._seed = seed
        self._phase = phase
        self._policy = dict(policy)
        self._live = {name: _Arm() for name in sorted(available)}
        self._gone: dict[str, _Arm] = {name: _Arm() for name in policy if name not in self._live}
        self._remembered = {
            name: state for name, state in (remembered or {}).items() if name not in self._live
        }
        self._total_pulls = 0
        if not any(self._bounds(name).cap > 0 for name in self._live):
            raise PolicyError(
                "policy: no arm can be pulled, for no source exists or every cap is 0;"
                " give one of the sources a cap above 0"
            )

    def fold(self, records: Iterable[LossRecord]) -> None:
        """Take in loss records in order of their steps; those of other phases are left out.

        A step's last record only: `arm`, `loss`, `reward`, `tokens` and `phase` are read.
        """
        for record in records:
            if record.phase == self._phase:
                self.update(
                    record.arm, loss=record.loss, reward=record.reward, tokens=record.tokens
                )

    def update(self, arm: str, *, loss: float | None, reward: float | None, tokens: int) -> None:
        """Take in one step: mean loss in nats a token, reward in [0, 1]."""
        if arm in self._live:
            self._live[arm].update(loss, reward, tokens)
            self._total_pulls += 1
        else:
            self._gone.setdefault(arm, _Arm()).update(loss, reward, tokens)

    def choose(self, step: int) -> str:
        """The arm of a step: drawn by the probabilities, with a number from (seed, step) alone."""
        at = derive_uniform("arm", self._seed, step)
        chosen = ""
        for name, probability in self.probabilities().items():
            if probability > 0:
                chosen = name
                if at < probability:
                    break
            at -= probability
        return chosen

    def probabilities(self) -> dict[str, float]:
        """Of each arm whose source exists, in the order of their names; they add up to 1."""
        return probabilities_of(self._weights(), self._policy)

    def ema_loss(self, arm: str) -> float | None:
        """The arm's average loss of late, in nats a token; None before its first pull."""
        return self._live[arm].ema_loss

    def arms(self) -> dict[str, ArmState]:
        """The view for `.state.json`: every arm that is known, zombies with probability 0."""
        weights = self._weights()
        probabilities = self.probabilities()
        states = {
            name: self._view(name, arm, weights[name], probabilities[name])
            for name, arm in self._live.items()
        }
        for zombie in self.zombies():
            arm = self._gone.get(zombie.arm, _Arm())
            states[zombie.arm] = ArmState(
                pulls=zombie.pulls,
                ema_reward=zombie.ema_reward,
                ema_loss=arm.ema_loss,
                weight=zombie.weight,
                probability=0.0,
                tokens=arm.tokens,
                available=False,
            )
        return states

    def zombies(self) -> tuple[Zombie, ...]:
        """Arms without a source, with what they had, by name."""
        names = sorted({*self._gone, *self._remembered})
        return tuple(self._zombie(name) for name in names)

    def _bounds(self, name: str) -> ArmPolicy:
        return self._policy.get(name, ArmPolicy())

    def _weights(self) -> dict[str, float]:
        earned = {
            name: Earned(pulls=arm.pulls, ema_reward=arm.ema_reward)
            for name, arm in self._live.items()
        }
        return weights_of(earned, self._policy, self._total_pulls)

    def _view(self, name: str, arm: _Arm, weight: float, probability: float) -> ArmState:
        bounds = self._bounds(name)
        return ArmState(
            pulls=arm.pulls,
            ema_reward=arm.ema_reward,
            ema_loss=arm.ema_loss,
            weight=weight,
            probability=probability,
            floor=bounds.floor,
            cap=bounds.cap,
            tokens=arm.tokens,
        )

    def _zombie(self, name: str) -> Zombie:
        arm = self._gone.get(name, _Arm())
        remembered = self._remembered.get(name, ArmState())
        reasons = []
        if arm.pulls:
            reasons.append(f"{arm.pulls} steps of this phase")
        if name in self._policy:
            reasons.append("the policy")
        if name in self._remembered:
            reasons.append("an earlier .state.json")
        return Zombie(
            arm=name,
            pulls=arm.pulls or remembered.pulls,
            ema_reward=remembered.ema_reward if arm.ema_reward is None else arm.ema_reward,
            weight=remembered.weight,
            reason=f"its source is gone; known from {' and '.join(reasons)}",
        )

"""Updates of a compiled value against plain ones: losses by position, steps of Adam, averages of weights."""

import math

import numpy as np
import pytest
import torch

from patchwork_env.agents.compiled import arrays_of
from patchwork_env.agents.patchwork.value.network import SCALES, new_weights
from patchwork_env.learning.algorithms.common.gradients import ThreadPool
from patchwork_env.learning.algorithms.td.config import Td
from patchwork_env.learning.algorithms.td.learner import Positions, ValueLearner
from patchwork_env.learning.algorithms.td.patchwork import PatchworkValueModule
from tests.agents.positions import many_states
from tests.learning.algorithms.naive import NaiveAdam, means, naive_gradients, naive_schedule

PROGRESSES = (0.0, 0.5, 1.0)
PLAIN = {"gradient_steps": 3, "minibatch_size": 8, "warmup": 5, "max_gradient_norm": 1e6, "ema_decay": 0.5}
CASES = {
    "plain": {},
    "all positions": {"minibatch_size": 10_000, "gradient_steps": 1},
    "short gradients": {"max_gradient_norm": 0.01},
    "slow tables": {"table_rate": 0.01},
    "no warm-up": {"warmup": 1},
    "learning rate": {"learning_rate": {"start": 0.02, "end": 0.002, "curve": "linear"}},
    "long average": {"ema_decay": 0.999},
    "averaged over the run": {"averaging_power": 2.0},
}


def new_module():
    weights = new_weights(1)
    weights["weights_3"] *= 20
    return PatchworkValueModule(weights)


@pytest.mark.parametrize(
    ("changed", "threads"), [(case, 1 + k % 2) for k, case in enumerate(CASES.values())], ids=CASES
)
def test_weights_averages_and_losses_are_those_of_plain_updates(changed, threads):
    config, states = Td(**PLAIN | changed), many_states()[::40]
    targets = np.random.default_rng(3).uniform(0, 1, (len(states), len(SCALES))).astype(np.float32) * SCALES
    positions = Positions(states, targets.astype(np.float32))
    learner = ValueLearner(new_module(), config, ThreadPool(threads))
    twin = NaiveLearner(new_module(), config)
    random, of_twin = np.random.default_rng(2), np.random.default_rng(2)
    for progress in PROGRESSES:
        metrics = learner.update(positions, progress, random)
        expected = twin.update(positions, progress, of_twin)
        assert {name: metrics[name] for name in expected} == pytest.approx(expected, rel=2e-3, abs=2e-4)
    for weights, of_twin in (
        (learner.module.weights, twin.weights()),
        (learner.average, twin.average),
        (learner.trained, twin.trained),
    ):
        for name, array in arrays_of(weights).items():
            off = np.abs(array - of_twin[name]) / twin.moved(name)
            assert (off > 0.03).mean() < 0.01, name


class NaiveLearner:
    """The learner as its configuration describes it."""

    def __init__(self, module, config):
        self.module, self.config, self.steps = module, config, 0
        self.names = [name for name, _ in module.named_parameters()]
        self.parameters = list(module.parameters())
        self.optimizer = NaiveAdam(self.parameters)
        self.path, self.trained = [], None
        self.begin, self.average = self.weights(), self.weights()

    def weights(self):
        return {name: parameter.detach().numpy().copy() for name, parameter in self.module.named_parameters()}

    def moved(self, name):
        """The largest change of the weights of this name."""
        return np.abs(self.path[-1][name] - self.begin[name]).max()

    def update(self, positions, progress, random):
        config, seen = self.config, []
        size = min(config.minibatch_size, len(positions.states))
        for _ in range(config.gradient_steps):
            samples = random.integers(len(positions.states), size=size)
            losses = naive_losses(self.module, positions, samples)
            gradients, norm = naive_gradients(losses["loss"], self.parameters, config.max_gradient_norm)
            seen.append(losses | {"gradient_norm": norm})
            self.steps += 1
            rate = naive_schedule(config.learning_rate, progress) * min(1, self.steps / config.warmup)
            factors = [config.table_rate if name in ("patterns", "features") else 1 for name in self.names]
            self.optimizer.step(gradients, [rate * factor for factor in factors])
            # An exponential average, but at first that of all steps.
            share = max(1 - config.ema_decay, 1 / self.steps)
            now = self.weights()
            self.average = {n: (1 - share) * self.average[n] + share * now[n] for n in now}
            self.path.append(self.average)
        self.trained = self._mean_of_averages()
        return means(seen)

    def _mean_of_averages(self):
        """The mean of the averages that played, where a step counts by a power of its number."""
        ends = np.arange(0, self.steps + 1, self.config.gradient_steps) / self.steps
        power = math.inf if self.config.averaging_power is None else self.config.averaging_power
        shares = np.diff(ends ** (power + 1))
        played = self.path[self.config.gradient_steps - 1 :: self.config.gradient_steps]
        return {n: sum(s * each[n] for s, each in zip(shares, played, strict=True)) for n in self.names}


def naive_losses(module, positions, samples):
    """Squared errors of scores and empty cells, and the cross-entropy of who wins; means over positions."""
    scores = empty = wins = torch.zeros(())
    for sample in samples:
        outputs = module(positions.states[sample : sample + 1])[0]
        own_score, other_score, win, own_empty, other_empty = positions.targets[sample] / SCALES
        scores = scores + (outputs[0] - own_score) ** 2 + (outputs[1] - other_score) ** 2
        empty = empty + (outputs[3] - own_empty) ** 2 + (outputs[4] - other_empty) ** 2
        chance = 1 / (1 + torch.exp(-outputs[2]))
        wins = wins - win * torch.log(chance) - (1 - win) * torch.log(1 - chance)
    loss = scores + empty + wins
    losses = {"loss": loss, "score_loss": scores, "empty_loss": empty, "win_loss": wins}
    return {name: each / len(samples) for name, each in losses.items()}

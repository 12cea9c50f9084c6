"""Gumbel search of one game, written from the paper: slow, with a list of values in every node.

Equations are those of "Policy improvement by planning with Gumbel" (Danihelka et al. 2022); the schedule of
visits is that of mctx.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Settings:
    simulations: int = 32
    max_considered: int = 16
    c_scale: float = 1.0
    value_range: float = 2.0


@dataclass
class Node:
    state: np.void
    actions: list[int]
    log_priors: list[float]
    raw_value: float  # for the player to move
    children: dict[int, Node] = field(default_factory=dict)  # by the index of the action
    values: list[float] = field(default_factory=list)  # backed up, from player 0's view

    @property
    def sign(self):
        return 1 if self.state["player"] == 0 else -1

    def visits(self, k):
        return len(self.children[k].values) if k in self.children else 0

    def q_value(self, k):
        return self.sign * sum(self.children[k].values) / self.visits(k)

    def mixed_value(self):
        """Equation 33."""
        total = sum(self.visits(k) for k in self.children)
        if not total:
            return self.raw_value
        priors = {k: math.exp(self.log_priors[k]) for k in self.children}
        weighted = sum(priors[k] * self.q_value(k) for k in priors) / sum(priors.values())
        return (self.raw_value + total * weighted) / (1 + total)

    def completed(self):
        """Completed Q-values, equation 10."""
        mixed = self.mixed_value()
        return [self.q_value(k) if k in self.children else mixed for k in range(len(self.actions))]

    def sigma(self, settings):
        """Equation 8, of the completed Q-values."""
        completed = self.completed()
        most = max(self.visits(k) for k in range(len(self.actions)))
        return [(50.0 + most) * settings.c_scale * q / settings.value_range for q in completed]

    def improved_policy(self, settings):
        """Equation 11."""
        logits = [a + b for a, b in zip(self.log_priors, self.sigma(settings), strict=True)]
        weights = [math.exp(logit - max(logits)) for logit in logits]
        return [weight / sum(weights) for weight in weights]


class Reference:
    """Searches one game; ``root`` is the tree afterwards."""

    def __init__(self, game, state, settings, noise):
        self.game, self.settings, self.noise = game, settings, noise
        self.root = self._node(state)
        considered = min(settings.max_considered, len(self.root.actions))
        for visits in schedule(considered, settings.simulations):
            self._simulate(visits)

    def chosen(self):
        most = max(self.root.visits(k) for k in range(len(self.root.actions)))
        return self.root.actions[self._best_of_root(most)]

    def value(self):
        policy, completed = self.root.improved_policy(self.settings), self.root.completed()
        return sum(p * q for p, q in zip(policy, completed, strict=True))

    def _node(self, state):
        if not self.game.legal(state):
            return Node(state, [], [], self.game.payoff(state) * (1 - 2 * int(state["player"])))
        actions, log_priors, value = self.game.of_one(state)
        return Node(state, actions, [float(x) for x in log_priors], float(value))

    def _simulate(self, considered_visits):
        node, path = self.root, [self.root]
        k = self._best_of_root(considered_visits)
        while k in node.children:
            node = node.children[k]
            path.append(node)
            if not node.actions:
                break
            k = self._best_below(node)
        else:
            node.children[k] = self._node(self.game.after(node.state, node.actions[k]))
            path.append(node.children[k])
        for above in path:
            above.values.append(path[-1].sign * path[-1].raw_value)

    def _best_of_root(self, visits):
        root = self.root
        sigma = root.sigma(self.settings)
        scores = [g + p + s for g, p, s in zip(self.noise, root.log_priors, sigma, strict=True)]
        return max((k for k in range(len(scores)) if root.visits(k) == visits), key=lambda k: scores[k])

    def _best_below(self, node):
        """Equation 14."""
        policy = node.improved_policy(self.settings)
        total = sum(node.visits(k) for k in node.children)
        return max(range(len(policy)), key=lambda k: policy[k] - node.visits(k) / (1 + total))


def schedule(considered, simulations):
    """The visits before each simulation of the root's action that it takes."""
    if considered == 1:
        return list(range(simulations))
    sequence, visits, alive = [], [0] * considered, considered
    while len(sequence) < simulations:
        for _ in range(max(1, int(simulations / (math.ceil(math.log2(considered)) * alive)))):
            sequence += visits[:alive]
            visits[:alive] = [number + 1 for number in visits[:alive]]
        alive = max(2, alive // 2)
    return sequence[:simulations]

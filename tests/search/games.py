"""Small games for tests of the search, written for one record in plain Python, and their exact values."""

import numpy as np

from patchwork_env.search import Evaluation


class ToyGame:
    """A game of two players; also its :class:`~patchwork_env.search.Dynamics`, record by record.

    Subclasses have ``legal``, empty at the end, ``play``, in place, and ``payoff``, of player 0 at the end.
    """

    def step(self, states, actions):
        for state, action in zip(states, actions, strict=True):
            self.play(state, int(action))
            while len(legal := self.legal(state)) == 1:
                self.play(state, legal[0])

    def finished(self, states):
        return np.array([not self.legal(state) for state in states], bool)

    def players(self, states):
        return states["player"].astype(np.int64)

    def returns(self, states):
        return np.array([self.payoff(state) for state in states], np.float32)

    def after(self, state, action):
        """The state after an action and the forced moves that follow."""
        states = np.array([state], self.dtype)
        self.step(states, [action])
        return states[0]

    def know_nothing(self, states):
        """Uniform policy and zero values."""
        lists = [self.legal(state) for state in states]
        counts = np.array([len(actions) for actions in lists], np.int64)
        log_probabilities = np.repeat(-np.log(counts), counts).astype(np.float32)
        return Evaluation(counts, np.concatenate(lists), log_probabilities, np.zeros(len(states), np.float32))


class LastStoneLoses(ToyGame):
    """Take 1 to 3 stones; a player who leaves a multiple of 5 moves again, so turns do not alternate."""

    dtype = np.dtype([("stones", "i2"), ("player", "i1")])

    def legal(self, state):
        return list(range(1, min(int(state["stones"]), 3) + 1))

    def play(self, state, action):
        state["stones"] -= action
        if state["stones"] % 5:
            state["player"] = 1 - state["player"]

    def payoff(self, state):
        # With the last stone, a multiple of 5 is left: the turn stays with the loser.
        return 2.0 * state["player"] - 1.0


class RandomTree(ToyGame):
    """A number determines everything about a state: legal actions, some forced, turns and payoffs."""

    dtype = np.dtype([("key", "u8"), ("depth", "i2"), ("player", "i1")])

    def __init__(self, depth=5, most_actions=5):
        self.depth, self.most_actions = depth, most_actions

    def start(self, seed, n=1):
        """Different first states."""
        states = np.zeros(n, self.dtype)
        states["key"] = np.arange(n, dtype=np.uint64) + np.uint64(1_000_003 * seed)
        states["player"] = [self._draw(state, 9) % 2 for state in states]
        return states

    def legal(self, state):
        random = self._draw(state, 0)
        if state["depth"] >= self.depth or (state["depth"] > 1 and random % 7 == 0):
            return []
        return [3 + 2 * k for k in range(1 + random // 7 % self.most_actions)]

    def play(self, state, action):
        state["key"] = self._draw(state, action)
        state["depth"] += 1
        state["player"] = self._draw(state, 1) % 2

    def payoff(self, state):
        return self._draw(state, 2) % 5 / 2 - 1

    def know_something(self, states):
        """A policy and values, also determined by the number."""
        parts = [self.of_one(state) for state in states]
        return Evaluation(
            np.array([len(part[0]) for part in parts]),
            np.concatenate([part[0] for part in parts]),
            np.concatenate([part[1] for part in parts]).astype(np.float32),
            np.array([part[2] for part in parts], np.float32),
        )

    def of_one(self, state):
        """Legal actions, log-probabilities as float32, and the value for the player to move."""
        actions = self.legal(state)
        logits = np.array([self._draw(state, 100 + action) % 1000 / 300 for action in actions])
        log_probabilities = (logits - np.log(np.exp(logits).sum())).astype(np.float32)
        return actions, log_probabilities, np.float32(self._draw(state, 3) % 1001 / 500 - 1)

    def _draw(self, state, purpose):
        word = (int(state["key"]) + (purpose + 1) * 0x9E3779B97F4A7C15) % 2**64
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
        return (word ^ (word >> 31)) >> 8

"""Patchwork as the search plays it, against :class:`Game`."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env.agents.patchwork.dynamics import PatchworkDynamics
from patchwork_env.patchwork import Game
from tests.agents.positions import many_states


def play_on(game: Game, action: int) -> None:
    """An action, and then what is forced."""
    game.play(action)
    while len(game.legal_actions()) == 1:
        game.play(int(game.legal_actions()[0]))


def games_of(states) -> list[Game]:
    return [Game.from_state(states, i) for i in range(len(states))]


def test_steps_play_on_to_the_next_decision() -> None:
    dynamics, random = PatchworkDynamics(), np.random.default_rng(1)
    states = many_states()[::11]
    games = games_of(states)
    forced = 0
    while len(states):
        actions = np.array([random.choice(game.legal_actions()) for game in games])
        turns = [game.clone() for game in games]
        dynamics.step(states, actions)
        for game, before, action in zip(games, turns, actions, strict=True):
            play_on(game, int(action))
            before.play(int(action))
            forced += before != game
        np.testing.assert_array_equal(states, np.concatenate([game.state for game in games]))
        finished = dynamics.finished(states)
        assert finished.tolist() == [game.is_over for game in games]
        assert dynamics.players(states).tolist() == [game.current_player for game in games]
        assert all(game.is_over or len(game.legal_actions()) > 1 for game in games)
        states, games = states[~finished], [game for game in games if not game.is_over]
    assert forced > 20


def finished_games():
    dynamics, random = PatchworkDynamics(), np.random.default_rng(2)
    states, ended = many_states()[::11], []
    while len(states):
        dynamics.step(states, np.array([random.choice(game.legal_actions()) for game in games_of(states)]))
        finished = dynamics.finished(states)
        ended.append(states[finished])
        states = states[~finished]
    return np.concatenate(ended)


@pytest.mark.parametrize(("outcome", "margin", "margin_scale"), [(1, 0, 40), (0.5, 2, 10), (0, 1, 40)])
def test_payoffs_are_outcome_and_clipped_margin(outcome, margin, margin_scale) -> None:
    states = finished_games()
    dynamics = PatchworkDynamics(outcome, margin, margin_scale)
    payoffs = dynamics.returns(states)
    assert payoffs.dtype == np.float32
    for game, payoff in zip(games_of(states), payoffs, strict=True):
        first, second = game.scores()
        lead = max(-1, min(1, (first - second) / margin_scale))
        won = 1 if game.winner() == 0 else -1
        assert payoff == pytest.approx(outcome * won + margin * lead)
    assert np.abs(payoffs).max() <= dynamics.value_range / 2


def test_wrong_payoffs_are_errors_that_name_them() -> None:
    for arguments in ({"outcome": -1}, {"margin": float("nan")}, {"margin_scale": 0}, {"outcome": 0}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            PatchworkDynamics(**arguments)

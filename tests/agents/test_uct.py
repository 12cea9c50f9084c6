"""The agent for every game, which knows nothing but the rules."""

from __future__ import annotations

import numpy as np
import pytest

from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.agents.uct import UctAgent, _kernels, _new_work
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.game import BaseGame
from patchwork_env.games import rules_of


def play(game: BaseGame, *players: agents.Agent) -> BaseGame:
    while not game.is_over:
        action = players[game.current_player].act(game)
        assert action in game.legal_actions()
        game.play(action)
    return game


def test_it_beats_random_play_in_both_games() -> None:
    uct, random = agents.load("uct:simulations=60", 1), agents.load("random", 1)
    games = [play(patchwork.Game(seed=seed), uct, random) for seed in range(4)]
    assert sum(game.scores()[0] > game.scores()[1] for game in games) >= 3
    table = play(nmbr9.Game(seed=1, players=3), uct, random, random)
    assert table.scores()[0] == max(table.scores())


def test_it_does_not_look_at_cards_that_players_do_not_know() -> None:
    digits = [3, 1, 4, 5, 9, 2, 6, 8, 7, 0] * 2
    games = [nmbr9.Game(deck=deck) for deck in (digits, [3, *sorted(digits[1:])])]
    kernels = rules_of("nmbr9").kernels
    for game in games:
        kernels.determinize(game.state, 0, np.zeros(1, np.uint64))
    assert games[0].state.tobytes() == games[1].state.tobytes()
    assert games[0].state[0]["deck"][0] == 3
    known = nmbr9.Game(deck=digits, order="known")
    kernels.determinize(known.state, 0, np.zeros(1, np.uint64))
    assert known.state[0]["deck"][:20].tolist() == digits
    orders = (digits, digits[:1] + digits[:0:-1])
    chosen = [UctAgent(1, simulations=40).act(nmbr9.Game(deck=deck)) for deck in orders]
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize("players", [1, 2, 3])
def test_the_value_of_an_end_is_its_outcome_and_its_points_in_a_scale_of_random_games(players: int) -> None:
    game = nmbr9.Game(deck=[5, 1, 9, 4, 7], players=players)
    rules = rules_of(game.state)
    work, kernels = _new_work(rules, 10), _kernels(rules)
    work.root[0] = game.state[0]
    streams, same = seed_streams(4), seed_streams(4)
    kernels.measure_scale(work, streams, 16)
    scale, points = work.scale.copy(), []
    for _ in range(16):
        work.state[0] = game.state[0]
        kernels.play_out(work, same)
        points.append([leads(game.from_state(work.state, 0), player) for player in range(players)])
    own = np.array(points, float)[:, 0]
    center = own.mean() if players == 1 else 0.0
    assert scale == pytest.approx([center, 3 * max(1, np.sqrt(((own - center) ** 2).mean()))])
    shares = np.clip((np.array(points[-1]) - scale[0]) / scale[1], -1, 1)
    if players > 1:
        outcomes = [rules.kernels.outcome(work.state, 0, player) for player in range(players)]
        shares = 0.8 * np.array(outcomes) + 0.2 * shares
    assert work.values[:players] == pytest.approx(shares)


def leads(game: BaseGame, player: int) -> int:
    """A player's score, less the best one of the others."""
    scores = list(game.scores())
    own = scores.pop(player)
    return own - max(scores) if scores else own


def test_a_budget_of_time_is_kept_in_every_part() -> None:
    agent = UctAgent(1, seconds=0.05)
    assert agent.name == "uct:seconds=0.05"
    assert agent.act(nmbr9.Game(seed=1)) in nmbr9.Game(seed=1).legal_actions()


def test_wrong_options_are_errors() -> None:
    for spec, message in (
        ("uct:simulations=1", "must be an integer of 2 to 1000000"),
        ("uct:simulations=4,seconds=1", "simulations=4 and seconds=1.0; give one of them"),
        (f"uct:simulations={10**12}", "must be an integer of 2 to 1000000"),
        ("uct:simulation=4", "did you mean 'simulations'"),
    ):
        with pytest.raises(ValueError, match=message):
            agents.load(spec)

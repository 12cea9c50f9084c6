"""Agents as bots of OpenSpiel, its bots as agents, and its algorithms on the games."""

import numpy as np
import pytest

pytest.importorskip("pyspiel")

import pyspiel
from open_spiel.python.algorithms import cfr, evaluate_bots, exploitability
from open_spiel.python.bots import uniform_random

import patchwork_env.integrations.open_spiel as open_spiel
from patchwork_env import agents
from patchwork_env.learning.evaluation import play_matches
from patchwork_env.patchwork import Game
from tests.integrations.open_spiel.cases import load

pytestmark = pytest.mark.libraries


def test_a_bot_plays_what_the_agent_chooses():
    state = load("python_patchwork(seed=7)").new_initial_state()
    bots = [open_spiel.bot("greedy", 0), pyspiel.make_uniform_random_bot(1, 7)]
    agent = agents.load("greedy")
    assert [bots[0].player_id(), bots[0].provides_policy()] == [0, False]
    while state.current_player() != pyspiel.PlayerId.TERMINAL:
        action = bots[state.current_player()].step(state)
        if state.current_player() == 0:
            assert action == agent.act(state.position())
        state.apply_action(action)
    assert state.returns() == [1, -1]


@pytest.mark.parametrize("evaluate", [pyspiel.evaluate_bots, evaluate_bots.evaluate_bots])
def test_bots_play_whole_games(evaluate):
    """With chance nodes, whose outcomes OpenSpiel sends to the bots."""
    bots = [open_spiel.bot("greedy", 0, seed=1), uniform_random.UniformRandomBot(1, np.random.RandomState(1))]
    seed = 5 if evaluate is pyspiel.evaluate_bots else np.random.RandomState(5)
    assert list(evaluate(load("python_nmbr9(players=2)").new_initial_state(), bots, seed)) == [1, -1]


def test_a_bot_with_a_seed_sees_the_same_hidden_tiles_again():
    seen = []
    bot = open_spiel.bot(lambda game: seen.append(game.to_bytes()) or int(game.legal_actions()[0]), 0, seed=3)
    state = load("python_nmbr9(seed=1)").new_initial_state()
    assert bot.step(state) == bot.step(state) == state.legal_actions()[0]
    assert seen[0] == seen[1] != state.position().to_bytes()
    state.apply_action(bot.step(state))
    bot.step(state)
    assert seen[3] == state.position().determinize(2**64 - 3).to_bytes(), "another seed for each move"


def test_states_that_a_bot_refuses():
    state = load("python_patchwork(seed=7)").new_initial_state()
    with pytest.raises(ValueError, match="player 0 is to move, not player 1"):
        open_spiel.bot("random", 1).step(state)
    with pytest.raises(ValueError, match="python_patchwork and python_nmbr9"):
        open_spiel.bot("random", 0).step(pyspiel.load_game("tic_tac_toe").new_initial_state())
    with pytest.raises(ValueError, match="there is no position for players"):
        open_spiel.bot("random", pyspiel.PlayerId.CHANCE).step(load("python_patchwork").new_initial_state())
    only_patchwork = agents.ObservingAgent(lambda observations, masks: masks.argmax(axis=1), "first")
    with pytest.raises(ValueError, match="'first' plays patchwork, not nmbr9"):
        open_spiel.bot(only_patchwork, 0).step(load("python_nmbr9(seed=1)").new_initial_state())


def test_tabular_algorithms_walk_a_whole_tree():
    """Counterfactual regret minimization relies on equal information states having equal actions."""
    game = load("python_nmbr9(players=2,deck_size=1,max_digit=1,copies=1)")
    solver = cfr.CFRSolver(game)
    solver.evaluate_and_update_policy()
    assert exploitability.exploitability(game, solver.average_policy()) == 0


def test_a_bot_is_an_agent():
    game = load("python_patchwork")
    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
    search = pyspiel.MCTSBot(game, evaluator, 1.4, 10, 100, False, 1, False)
    agent = open_spiel.as_agent(search, game, "mcts of OpenSpiel")
    ours = Game(seed=3)
    assert agent.act(ours) in ours.legal_actions()
    assert ours == Game(seed=3)
    with pytest.raises(ValueError, match="plays patchwork"):
        agent.check_game("nmbr9")
    with pytest.raises(ValueError, match="the game is python_patchwork or python_nmbr9"):
        open_spiel.as_agent(None, pyspiel.load_game("tic_tac_toe"))
    result = play_matches(agent, "random", games=2)
    assert "mcts of OpenSpiel against random: 2 games" in result.table()

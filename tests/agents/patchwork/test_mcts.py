"""The agent that searches: budgets, reuse of trees, memory, strength; and its parts."""

import random

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.agents import GreedyAgent, uct
from patchwork_env.agents.patchwork import mcts as module
from patchwork_env.agents.patchwork.endings.solver import new_solver, solve
from patchwork_env.agents.patchwork.mcts import MctsAgent, list_candidates, new_workspace, value_of
from patchwork_env.agents.patchwork.placements import draw_kept, keep_best_placements, new_ranking
from patchwork_env.core.checks import seed_streams
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.patchwork import PATCHES, Game
from tests.agents.positions import joints_of, many_states, quilt_after


def test_budgets_are_kept(monkeypatch):
    """The clock advances by a second when it is read, and by one for the solver."""
    read, tried = iter(range(99)).__next__, []
    for part in (module, uct):
        monkeypatch.setattr(part, "perf_counter", read)
    monkeypatch.setattr(module, "solved_ending", lambda *args: (-1, read(), tried.append(args[3])))
    for budget, visits in ("simulations=150", 150), ("seconds=6", 500):
        agent = agents.load(f"mcts:{budget}", seed=1)
        agent.act(Game(seed=3))
        assert agent.workspace()[0].nodes[0]["visits"] == visits
    assert tried == [3000, 1_800_000]
    names = [agents.load(f"mcts{options}").name for options in ("", ":simulations=50", ":seconds=0.50")]
    assert names == ["mcts", "mcts:simulations=50", "mcts:seconds=0.5"]


def test_trees_are_reused():
    agent, game = MctsAgent(1, simulations=200), Game(seed=7)
    reused = 0
    while not game.is_over and sum(game.positions) < 80:
        before = agent._memory.num_nodes
        action = agent.act(game)
        if len(game.legal_actions()) > 1:
            visits = int(agent.workspace()[0].nodes[0]["visits"])
            assert visits >= 200
            reused += visits > 200
            assert visits == 200 or before > 0
        game.play(action)
    assert reused > 5


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_NODES", 500)
    agent = MctsAgent(1, simulations=800)
    for seed in range(8):
        agent.act(Game(seed=seed))
        assert agent.workspace()[0].sizes[0] <= 500
        assert agent.workspace()[0].sizes[1] <= 500 * module.EDGES_PER_NODE
        assert agent._memory.num_nodes <= 500
    assert agent.workspace()[0].nodes[0]["visits"] == 800


def test_endings_are_played_as_solved():
    agent, solver, checked = MctsAgent(1, simulations=500), new_solver(), 0
    for seed in range(3):
        game = Game(seed=seed)
        while not game.is_over:
            action = agent.act(game) if sum(game.positions) > 98 else GreedyAgent().act(game)
            is_solved, value, _ = solve(game.state, 0, 20_000, solver, False)
            player = game.current_player
            game.play(action)
            if is_solved and sum(game.positions) > 98 and not game.is_over:
                after = solve(game.state, 0, 5_000_000, solver, False)[1]
                assert value == (after if game.current_player == player else -after)
                checked += 1
    assert checked > 3


def test_it_beats_the_greedy_agent():
    result = play_matches("mcts:simulations=200", "greedy", 20, seed=1)
    assert result.win_rate >= 0.8


def test_placements_of_playouts_leave_the_most_joints():
    ranking, streams, checked, nowhere = new_ranking(), seed_streams(1), 0, 0
    for state in many_states()[::6]:
        game = Game.from_state(np.array([state]))
        if game.pending_special:
            continue
        legal = game.legal_actions().tolist()[1:]
        for slot in range(len(game.offered)):
            if PATCHES[game.offered[slot]].buttons > game.buttons[game.current_player]:
                continue
            places = [action for action in legal if (action - 1) // 648 == slot]
            assert keep_best_placements(game.state, 0, slot, ranking) == bool(places)
            if not places:
                nowhere += 1
                continue
            best = max(joints_of(quilt_after(game, place)) for place in places)
            equal = [place for place in places if joints_of(quilt_after(game, place)) == best]
            drawn = {draw_kept(slot, ranking, streams, 0) for _ in range(60)}
            assert drawn <= set(equal)
            assert len(equal) > 6 or len(drawn) == len(equal)
            checked += 1
    assert checked > 50
    assert nowhere > 2


def test_candidates_begin_with_the_best_of_every_kind():
    room, stream = new_workspace(), seed_streams(0)
    for state in many_states()[::10]:
        game = Game.from_state(np.array([state]))
        legal = game.legal_actions().tolist()
        count = list_candidates(game.state, 0, room, stream)
        actions = room.actions[:count].tolist()
        assert count == min(len(legal), module.MOST_CANDIDATES)
        assert len(set(actions)) == count
        assert set(actions) <= set(legal)
        kinds = {(action - 1) // 648 for action in legal}  # -1 is to advance
        assert {(action - 1) // 648 for action in actions[: len(kinds)]} == kinds
        for kind in kinds - {-1}:
            same = [action for action in legal if (action - 1) // 648 == kind]
            joints = {action: joints_of(quilt_after(game, action)) for action in same}
            chosen = next(action for action in actions if action in joints)
            assert joints[chosen] == max(joints.values())


def test_the_outcome_counts_for_more_than_the_margin():
    rng = random.Random(1)
    for _ in range(20):
        game = Game(seed=rng.randrange(1000))
        while not game.is_over:
            game.play(rng.choice(game.legal_actions().tolist()))
        margin = game.scores()[0] - game.scores()[1]
        sign = 1 - 2 * game.winner()
        assert value_of(game.state, 0) == pytest.approx(0.8 * sign + 0.2 * max(-1, min(1, margin / 50)))

"""Runners of matches: seats, set-ups and streams of a block, and the time that each side takes."""

import signal
from dataclasses import replace

import numpy as np
import pytest

from patchwork_env.agents import BatchAgent, RandomAgent, as_agent
from patchwork_env.agents.base import Usage
from patchwork_env.games import NMBR9, PATCHWORK
from patchwork_env.learning.evaluation import playing, runners
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.runners import AGENT, OPPONENT, MatchRunner, match_part
from patchwork_env.learning.system import Interruption, signals_interrupt

AGENTS = RandomAgent(), RandomAgent()


def runner(game, begin, end, agents=AGENTS, **options):
    match = runners.Match((0, 1), ("a", "b"), game, match_part(game).variants[0], 8, seed=3, **options)
    return MatchRunner(agents, runners.MatchBlock(match, begin, end))


def test_both_games_of_a_circle_begin_alike_and_the_agent_takes_each_seat():
    block = runner(PATCHWORK, 0, 3)
    assert block.players.tolist() == [[0, 1], [1, 0]] * 3
    assert (block.states[::2] == block.states[1::2]).all()
    assert block.states[::2]["current_player"].tolist() == [0, 1, 0]
    assert len({state.tobytes() for state in block.states}) == 3


def test_seats_of_nmbr9_change_from_deck_to_deck_also_between_blocks():
    assert runner(NMBR9, 0, 4).players[:, AGENT].tolist() == [0, 1, 0, 1]
    assert runner(NMBR9, 1, 4).players.tolist() == [[1, 0], [0, 1], [1, 0]]


@pytest.mark.parametrize("game", [PATCHWORK, NMBR9])
def test_set_ups_and_streams_do_not_depend_on_the_block(game):
    times = match_part(game).games_per_set_up
    whole, part = runner(game, 0, 4), runner(game, 1, 4)
    assert (whole.states[times:] == part.states).all()
    assert (whole._streams[times:] == part._streams).all()
    assert len({*whole._seeds, *part._seeds}) == 4  # of the agents in each block


def test_a_signal_ends_a_block():
    with signals_interrupt():
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Interruption):
            runner(PATCHWORK, 0, 3).run()


def test_with_forfeits_functions_are_asked_once_for_each_position():
    """Also if they fail in some of the games in which it is their turn."""
    asked = []

    def careless(game):
        asked.append(game.state.tobytes())
        return None if game.root().current_player == 1 else game.legal_actions()[0]

    block = runner(PATCHWORK, 0, 2, (RandomAgent(), as_agent(careless)), forfeits=True)
    first = [block.states[k].tobytes() for k in (1, 2)]  # both games that it starts
    games = block.run()
    assert asked[:2] == first
    assert len(asked) == len(set(asked)) == games.turns[:, OPPONENT].sum() + 2
    assert np.column_stack([games.forfeits[2:], games.agent_wins[2:]]).tolist() == [[0, 1, 1]] * 2
    assert not games.forfeits[:2].any()


@pytest.fixture
def clock(monkeypatch):
    """A clock that agents move."""
    now = [0.0]
    monkeypatch.setattr(playing, "perf_counter", lambda: now[0])
    return now


class Batches(BatchAgent):
    """Takes three seconds for every batch, and reports it as a call."""

    def __init__(self, clock):
        self.name, self._clock, self.calls = "batches", clock, 0

    def act_batch(self, states):
        return self.act_and_count(states)[0]

    def act_and_count(self, states):
        self._clock[0] += 3.0
        self.calls += 1
        return RandomAgent(0).act_batch(states), Usage(calls=1)


def test_the_time_of_a_side_is_that_of_all_its_actions(clock):
    """Not that of the last block, nor over the actions of both sides, nor with the other's time."""

    def act(game):
        clock[0] += 5.0
        return game.legal_actions()[0]

    agent = Batches(clock)
    result = play_matches(agent, act, 130)
    assert (result.usage, result.kept) == ((Usage(calls=agent.calls), Usage()), ())
    turns = result.games.turns.sum(0)
    assert result.seconds == (3.0 * agent.calls, 5.0 * turns[OPPONENT])
    assert turns[AGENT] != turns[OPPONENT]
    assert [result.seconds_per_move(k) for k in (AGENT, OPPONENT)] == [3.0 * agent.calls / turns[AGENT], 5.0]
    few = replace(result, games=replace(result.games, turns=np.array([[1, 0]])), seconds=(2.0, 0.0))
    assert [few.seconds_per_move(k) for k in (AGENT, OPPONENT)] == [2.0, 0.0]

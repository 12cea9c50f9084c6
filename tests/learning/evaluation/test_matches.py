"""Matches: pairing, reproducibility, and failures of agents."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from patchwork_env.agents import Agent, BatchAgent, GreedyAgent, RandomAgent
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.runners import OPPONENT
from patchwork_env.patchwork import PATCHES, Game, IllegalActionError
from patchwork_env.patchwork.components import START_BUTTONS


class Witness(Agent):
    """Plays the middle action and records the games in which it has the first turn."""

    def __init__(self):
        self.name = "witness"
        self.began: list[tuple[tuple[int, ...], int]] = []
        self.variants: set[str] = set()

    def act(self, game):
        self.variants.add(game.special_patches)
        if len(game.circle) == 33 and game.positions == (0, 0):
            self.began.append((game.circle, game.current_player))
        actions = game.legal_actions()
        return int(actions[len(actions) // 2])


def set_ups(seed, pairs):
    """Circle and first seat of every pair."""
    witness = Witness()
    play_matches(witness, Witness(), 2 * pairs, seed)
    return witness.began


def test_both_games_of_a_pair_have_one_circle_and_each_side_starts_one():
    agent, opponent = Witness(), Witness()
    games = play_matches(agent, opponent, 200, seed=4).games
    assert agent.began == opponent.began
    assert len({circle for circle, _ in agent.began}) == len(agent.began) == 100
    assert [first_seat for _, first_seat in agent.began] == [0, 1] * 50
    assert games.seats.tolist() == [0, 1] * 100
    assert games.agent_starts.tolist() == [True, False, False, True] * 50


def test_circles_depend_on_the_seed_and_the_number_of_the_pair_alone():
    assert set_ups(seed=4, pairs=70)[:5] == set_ups(seed=4, pairs=5)
    assert set_ups(seed=5, pairs=5) != set_ups(seed=4, pairs=5)
    greedy_meets = Witness()
    play_matches(greedy_meets, GreedyAgent(), 10, seed=4)
    assert greedy_meets.began == set_ups(seed=4, pairs=5)


@pytest.mark.parametrize("variant", ["revised", "2014"])
def test_the_figures_are_those_of_games_played_one_by_one(variant):
    sides = GreedyAgent(), Witness()
    games = play_matches(*sides, 20, seed=9, special_patches=variant).games
    figures = games.figures
    assert sides[OPPONENT].variants == {variant}
    circles = np.repeat(np.array(set_ups(seed=9, pairs=10), object), 2, axis=0)
    for i, (circle, first) in enumerate(circles):
        seat = i % 2
        game = Game(circle=circle, first_player=first, special_patches=variant)
        turns, spent, kinds = [0, 0], [0, 0], {"advance": [0, 0], "buy": [0, 0], "special": [0, 0]}
        while not game.is_over:
            side = int(game.current_player != seat)
            action = sides[side].act(game)
            move = game.decode(action)
            game.play(action)
            turns[side] += 1
            kinds[move.kind][side] += 1
            spent[side] += PATCHES[move.patch].buttons if move.kind == "buy" else 0
        told = games.seats[i], games.agent_starts[i], games.agent_wins[i]
        assert told == (seat, first == seat, game.winner() == seat)
        assert games.turns[i].tolist() == turns
        found = {name: figure[i].tolist() for name, figure in figures.items()}
        expected = {"buttons_spent": spent, "patches": kinds["buy"], "special_patches": kinds["special"]}
        players = [seat, 1 - seat]  # of both sides
        expected["score"] = [game.scores()[player] for player in players]
        expected["empty_cells"] = [81 - int(game.quilt(player).sum()) for player in players]
        expected["bonus_tile"] = [game.bonus_owner == player for player in players]
        expected["income"] = [game.incomes[player] for player in players]
        expected["buttons"] = [game.buttons[player] for player in players]
        assert {name: found[name] for name in expected} == expected
        earned = figures["buttons_from_income"][i] + figures["buttons_from_advancing"][i]
        assert (START_BUTTONS + earned - spent).tolist() == expected["buttons"]


def test_equal_seeds_give_equal_matches():
    agent, opponent, counted = RandomAgent(), RandomAgent(), []
    first = play_matches(agent, opponent, 160, seed=6, progress=counted.append)
    assert (sum(counted), len(counted) > 1) == (160, True)
    assert (first.agent, first.opponent) == ("random", "random")
    for same in ("random", agent):  # one object for both sides plays as two
        assert play_matches(same, same, 160, seed=6).games.as_dict() == first.games.as_dict()
    assert play_matches(agent, opponent, 160, seed=7).games.scores.tolist() != first.games.scores.tolist()
    fresh = play_matches("random", "random", 20, seed=None)
    again = play_matches("random", "random", 20, seed=fresh.seed)
    assert again.games.as_dict() == fresh.games.as_dict()
    assert play_matches("random", "random", 20, seed=None).seed != fresh.seed
    mirrored = first.games.scores.reshape(-1, 2, 2)  # the sides draw different random numbers
    assert (mirrored[:, 0] != mirrored[:, 1, ::-1]).any(1).mean() > 0.9


@pytest.mark.slow
def test_kept_games_are_those_that_were_played_with_any_number_of_processes():
    """Also across the blocks that are played at once."""
    alone, result = (play_matches("random", "greedy", 140, seed=8, keep=133, workers=n) for n in (1, 2))
    assert alone.games.as_dict() == result.games.as_dict()
    assert len(result.kept) == 133
    for i, game in enumerate(result.kept):
        assert game.is_over
        assert Game.from_notation(game.notation()) == game == alone.kept[i]
        seat = int(result.games.seats[i])
        assert (game.winner() == seat) == result.games.agent_wins[i]
        assert [game.scores()[seat], game.scores()[1 - seat]] == result.games.scores[i].tolist()
        assert len(game.history) == result.games.turns[i].sum()
    assert play_matches("random", "greedy", 4).kept == ()


def test_an_agent_cannot_change_the_games():
    class Spoiler(BatchAgent):
        name = "spoiler"

        def act_batch(self, states):
            actions = GreedyAgent().act_batch(states)
            states["buttons"] = 1000
            return actions

    spoiled = play_matches(Spoiler(), "random", 20, seed=1).games
    assert spoiled.as_dict() == play_matches("greedy", "random", 20, seed=1).games.as_dict()


def test_answers_that_are_no_actions_are_errors():
    class Vague(BatchAgent):
        name, answers = "vague", ()

        def act_batch(self, states):
            return np.array(self.answers)[: len(states)]

    for answers in ([0.9, 0.0], [None, None], ["0", "0"], [True, False], [1]):
        Vague.answers = answers
        with pytest.raises(ValueError, match=r"the actions of agent 'vague' are .*; they must be 2 integers"):
            play_matches(Vague(), Vague(), 4)
    with pytest.raises(ValueError, match="the action of agent '<lambda>' must be an integer"):
        play_matches(lambda game: 0.9, "random", 2)
    with pytest.raises(IllegalActionError, match="agent '<lambda>' chose action 5000, not legal in"):
        play_matches("greedy", lambda game: 5000, 2)


def test_functions_are_given_games_that_can_be_replayed():
    """Other programs need them, which get the first position and the moves."""
    seen = []

    def careful(given):
        replayed = type(given).from_notation(given.notation())
        assert "state=" not in given.notation()
        assert replayed == given
        assert replayed.history == given.history
        assert np.array_equal(given.root().state, given.state) == (not given.history)
        seen.append(len(given.history))
        action = GreedyAgent().act(given)
        given.play(action)  # the game is its own
        return action

    mine, others = (play_matches(agent, "random", 6, 3) for agent in (careful, "greedy"))
    assert mine.games.as_dict() == others.games.as_dict()
    assert min(seen) == 0
    assert max(seen) >= 20


@pytest.mark.parametrize(
    ("game", "arguments", "message"),
    [
        ("patchwork", {"games": 21}, "games is 21; it must be even and at least 2"),
        ("patchwork", {"games": 2.0}, "games must be an integer, not 2.0"),
        ("patchwork", {"seed": -1}, "seed is -1; allowed are"),
        ("patchwork", {"special_patches": "2015"}, "special_patches is '2015'; allowed are 'revised', "),
        ("patchwork", {"workers": 0}, "workers is 0; allowed are 1 to 1024"),
        ("patchwork", {"games": 10**6 + 2}, "games is 1000002; it must be at most 1,000,000"),
        ("patchwork", {"keep": 3}, "keep is 3"),
        ("patchwork", {"games": 10**6, "keep": -1}, "keep is -1; allowed are 0 to 1000000"),
        ("nmbr9", {"games": 0}, "games is 0; it must be at least 1"),
        ("nmbr9", {"special_patches": "2014"}, "matches of nmbr9 have no option 'special_patches'; it has"),
        ("chess", {}, "game is 'chess'; allowed are 'patchwork', 'nmbr9'"),
    ],
)
def test_wrong_arguments_are_errors(game, arguments, message):
    with pytest.raises(ValueError, match=message):
        play_matches("random", "random", **({"games": 2, "game": game} | arguments))


def test_matches_and_tournaments_need_no_extra():
    code = (
        "import sys, tempfile; from pathlib import Path\n"
        "extras = ['torch', 'tqdm', 'scipy', 'matplotlib', 'yaml', 'pydantic', 'jinja2', 'ray']\n"
        "sys.modules |= dict.fromkeys(extras)\n"
        "from patchwork_env.learning.evaluation import Tournament\n"
        "print(Tournament.enter(['greedy', 'random'], 2).play(Path(tempfile.mkdtemp())))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("<Standings: greedy, random>\n", "")

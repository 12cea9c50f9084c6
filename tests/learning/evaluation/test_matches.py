"""Matches: pairing, reproducibility, and what agents do wrong."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from patchwork_env.agents import Agent, BatchAgent, GreedyAgent, RandomAgent
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.runners import AGENT, OPPONENT, MatchGames
from patchwork_env.patchwork import PATCHES, Game, IllegalActionError
from patchwork_env.patchwork.components import START_BUTTONS


class Witness(Agent):
    """Plays the action in the middle and remembers the games that it had the first turn of."""

    def __init__(self) -> None:
        self.name = "witness"
        self.began: list[tuple[tuple[int, ...], int]] = []
        self.variants: set[str] = set()

    def act(self, game: Game) -> int:
        self.variants.add(game.special_patches)
        if len(game.circle) == 33 and game.positions == (0, 0):
            self.began.append((game.circle, game.current_player))
        actions = game.legal_actions()
        return int(actions[len(actions) // 2])


def set_ups(seed: int, pairs: int) -> list[tuple[tuple[int, ...], int]]:
    """Circle and first seat of every pair."""
    witness = Witness()
    play_matches(witness, Witness(), 2 * pairs, seed)
    return witness.began


def assert_equal_games(first: MatchGames, second: MatchGames) -> None:
    assert first.as_dict() == second.as_dict()


def test_both_games_of_a_pair_have_one_circle_and_each_side_starts_one() -> None:
    agent, opponent = Witness(), Witness()
    games = play_matches(agent, opponent, 200, seed=4).games
    assert agent.began == opponent.began
    assert len({circle for circle, _ in agent.began}) == len(agent.began) == 100
    assert [first_seat for _, first_seat in agent.began] == [0, 1] * 50
    assert games.seats.tolist() == [0, 1] * 100
    assert games.agent_starts.tolist() == [True, False, False, True] * 50


def test_circles_depend_on_the_seed_and_the_number_of_the_pair_alone() -> None:
    assert set_ups(seed=4, pairs=70)[:5] == set_ups(seed=4, pairs=5)
    assert set_ups(seed=5, pairs=5) != set_ups(seed=4, pairs=5)
    greedy_meets = Witness()
    play_matches(greedy_meets, GreedyAgent(), 10, seed=4)
    assert greedy_meets.began == set_ups(seed=4, pairs=5)


@pytest.mark.parametrize("variant", ["revised", "2014"])
def test_the_figures_are_those_of_games_played_one_by_one(variant: str) -> None:
    sides = GreedyAgent(), Witness()
    games = play_matches(*sides, 20, seed=9, special_patches=variant).games
    figures = games.figures
    assert sides[OPPONENT].variants == {variant}
    rows = [(k, seat) for k in range(10) for seat in (0, 1)]
    circles = set_ups(seed=9, pairs=10)
    for i, (pair, seat) in enumerate(rows):
        circle, first = circles[pair]
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
        assert games.seats[i] == seat
        assert games.agent_starts[i] == (first == seat)
        assert games.agent_wins[i] == (game.winner() == seat)
        assert games.turns[i].tolist() == turns
        assert figures["buttons_spent"][i].tolist() == spent
        assert figures["patches"][i].tolist() == kinds["buy"]
        assert figures["special_patches"][i].tolist() == kinds["special"]
        earned = figures["buttons_from_income"][i] + figures["buttons_from_advancing"][i]
        assert (START_BUTTONS + earned - spent).tolist() == figures["buttons"][i].tolist()
        for side, player in ((AGENT, seat), (OPPONENT, 1 - seat)):
            assert games.scores[i, side] == game.scores()[player]
            assert figures["empty_cells"][i, side] == 81 - game.quilt(player).sum()
            assert figures["bonus_tile"][i, side] == (game.bonus_owner == player)
            assert figures["income"][i, side] == game.incomes[player]
            assert figures["buttons"][i, side] == game.buttons[player]


def test_swapping_the_agents_mirrors_the_match() -> None:
    one = play_matches(GreedyAgent(), Witness(), 140, seed=2)
    other = play_matches(Witness(), GreedyAgent(), 140, seed=2)
    swapped = np.arange(140).reshape(-1, 2)[:, ::-1].ravel()  # the second game of a pair becomes the first
    assert one.games.agent_wins.tolist() == (~other.games.agent_wins[swapped]).tolist()
    for name, figure in one.games.figures.items():
        assert figure.tolist() == other.games.figures[name][swapped][:, ::-1].tolist(), name
    assert one.win_rate == pytest.approx(1 - other.win_rate)
    assert one.score_difference == pytest.approx(-other.score_difference)
    assert one.win_rate_if(agent_starts=True) == pytest.approx(1 - other.win_rate_if(agent_starts=False))


def test_against_itself_an_agent_wins_one_game_of_every_pair() -> None:
    result = play_matches("greedy", "greedy", 40, seed=3)
    assert (result.games.agent_wins[::2] != result.games.agent_wins[1::2]).all()
    assert (result.win_rate, result.score_difference) == (0.5, 0.0)


def test_equal_seeds_give_equal_matches() -> None:
    agent, opponent = RandomAgent(), RandomAgent()
    first = play_matches(agent, opponent, 160, seed=6).games
    assert_equal_games(first, play_matches(agent, opponent, 160, seed=6).games)
    assert_equal_games(first, play_matches("random", "random", 160, seed=6).games)
    assert play_matches(agent, opponent, 160, seed=7).games.scores.tolist() != first.scores.tolist()


def test_the_sides_draw_different_random_numbers() -> None:
    scores = play_matches("random", "random", 160, seed=6).games.scores
    mirrored = scores.reshape(-1, 2, 2)
    assert (mirrored[:, 0] != mirrored[:, 1, ::-1]).any(1).mean() > 0.9


@pytest.mark.slow
def test_processes_change_nothing() -> None:
    alone = play_matches("random", "greedy", 300, seed=8)
    assert_equal_games(alone.games, play_matches("random", "greedy", 300, seed=8, workers=2).games)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_games_that_are_kept_are_those_that_were_played(workers: int) -> None:
    """Also across the blocks that are played at once."""
    result = play_matches("random", "greedy", 140, seed=8, keep=133, workers=workers)
    assert len(result.kept) == 133
    for i, game in enumerate(result.kept):
        assert game.is_over
        assert Game.from_notation(game.notation()) == game
        seat = int(result.games.seats[i])
        assert (game.winner() == seat) == result.games.agent_wins[i]
        assert [game.scores()[seat], game.scores()[1 - seat]] == result.games.scores[i].tolist()
        assert len(game.history) == result.games.turns[i].sum()
    assert play_matches("random", "greedy", 4).kept == ()


def test_a_fresh_seed_is_named_and_repeats_the_match() -> None:
    fresh = play_matches("random", "random", 20, seed=None)
    assert_equal_games(fresh.games, play_matches("random", "random", 20, seed=fresh.seed).games)
    assert play_matches("random", "random", 20, seed=None).seed != fresh.seed


def test_progress_counts_all_games() -> None:
    counted: list[int] = []
    play_matches("greedy", "random", 300, seed=1, progress=counted.append)
    assert sum(counted) == 300
    assert len(counted) > 1


def test_names_are_specs_or_those_of_the_agents() -> None:
    def lowest(game: Game) -> int:
        return int(game.legal_actions()[0])

    result = play_matches("greedy", lowest, 4)
    assert (result.agent, result.opponent) == ("greedy", "lowest")
    assert play_matches(Witness(), RandomAgent(), 4).agent == "witness"


def test_an_illegal_action_is_an_error_that_names_the_agent() -> None:
    with pytest.raises(IllegalActionError, match="agent '<lambda>' chose action 5000, not legal in"):
        play_matches("greedy", lambda game: 5000, 2)


def test_an_agent_cannot_change_the_games() -> None:
    class Spoiler(BatchAgent):
        name = "spoiler"

        def act_batch(self, states):
            actions = GreedyAgent().act_batch(states)
            states["buttons"] = 1000
            return actions

    spoiled = play_matches(Spoiler(), "random", 20, seed=1).games
    assert_equal_games(spoiled, play_matches("greedy", "random", 20, seed=1).games)


def test_actions_of_a_wrong_shape_are_an_error() -> None:
    class Lazy(BatchAgent):
        name = "lazy"

        def act_batch(self, states):
            return np.zeros(len(states) + 1, np.int64)

    with pytest.raises(ValueError, match="the actions of agent 'lazy' are"):
        play_matches(Lazy(), "random", 4)


@pytest.mark.parametrize("answers", [[0.9, 0.0], [None, None], ["0", "0"], [True, False]])
def test_answers_that_are_no_integers_are_an_error(answers) -> None:
    class Vague(BatchAgent):
        name = "vague"

        def act_batch(self, states):
            return np.array(answers)[: len(states)]

    with pytest.raises(ValueError, match=r"the actions of agent 'vague' are .*; they must be 2 integers"):
        play_matches(Vague(), Vague(), 4)
    with pytest.raises(ValueError, match="the action of agent '<lambda>' must be an integer"):
        play_matches(lambda game: answers[0], "random", 2)


def test_functions_are_given_games_that_can_be_replayed() -> None:
    """As programs of others need them that know nothing but the first position and the moves."""
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
    assert_equal_games(mine.games, others.games)
    assert min(seen) == 0
    assert max(seen) >= 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"games": 0}, "games is 0; it must be even and at least 2"),
        ({"games": 21}, "games is 21; it must be even and at least 2"),
        ({"games": -2}, "games is -2"),
        ({"games": 2.0}, "games must be an integer, not 2.0"),
        ({"games": 2, "seed": -1}, "seed is -1; allowed are"),
        ({"games": 2, "special_patches": "2015"}, "special_patches is '2015'; allowed are 'revised', '2014'"),
        ({"games": 2, "workers": 0}, "workers is 0; allowed are 1 to 1024"),
        ({"games": 2, "workers": 10**5}, "workers is 100000; allowed are 1 to 1024"),
        ({"games": 10**12}, "games is 1000000000000; it must be at most 1,000,000"),
        ({"games": 2, "keep": 3}, "keep is 3"),
        ({"games": 2, "keep": -1}, "keep is -1"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        play_matches("random", "random", **arguments)


def test_matches_and_tournaments_need_no_extra() -> None:
    code = (
        "import sys, tempfile; from pathlib import Path\n"
        "extras = ['torch', 'tqdm', 'scipy', 'matplotlib', 'yaml', 'pydantic', 'jinja2', 'ray']\n"
        "sys.modules |= dict.fromkeys(extras)\n"
        "from patchwork_env.learning.evaluation import Tournament, play_matches\n"
        "print(play_matches('greedy', 'random', 2).table().splitlines()[0])\n"
        "print(Tournament.enter(['greedy', 'random'], 2).play(Path(tempfile.mkdtemp())))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("greedy against random: 2 games, 1 circle from both seats")
    assert second == "<Standings: greedy, random>"

"""Levels for people: properties of all of them, in both games."""

import math

import numpy as np
import pytest

from patchwork_env import agents, nmbr9, patchwork
from patchwork_env.agents.nmbr9 import partner as partner_of_nmbr9
from patchwork_env.agents.partner import NEVER_OVERLOOKED, Habits, decide, new_candidates
from patchwork_env.agents.patchwork.people import levels as partner_of_patchwork
from patchwork_env.agents.patchwork.placements import list_likely, new_ranking
from patchwork_env.agents.patchwork.value.expansion import new_expansion
from patchwork_env.core.checks import seed_streams
from patchwork_env.learning.evaluation import play_matches
from patchwork_env.nmbr9.actions import FIRST_CHOICE, NUM_ANCHORS
from patchwork_env.patchwork import Game, engine
from patchwork_env.patchwork.actions import ADVANCE, FIRST_SPECIAL, buy_action
from patchwork_env.patchwork.components import PATCHES
from tests.agents.positions import joints_of, many_states


def new_game(name):
    return patchwork.Game(seed=3) if name == "patchwork" else nmbr9.Game(seed=3)


def play(spec, game, most, seed=0):
    """Return the actions of an agent against itself, reseeded for every move."""
    agent, actions = agents.load(spec), []
    while not game.is_over and len(actions) < most:
        agent.reseed(seed + game.num_moves)
        actions.append(agent.act(game))
        game.play(actions[-1])
    return actions


VALUES, GROUPS, ORIENTATIONS = np.array([0.0, 1.0, 0.8, 1.5]), [0, 0, 1, 1], [NEVER_OVERLOOKED, 1, 6, 3]
SURE = Habits(turning=1.0, misjudging=0.0, carelessness=0.0)
SOME = [SURE._replace(turning=0.6, flipping=0.3), SURE._replace(misjudging=0.7)]
SOME += [SURE._replace(carelessness=0.9), SURE._replace(misjudging=0.2, lapses=0.4, lapse=5.0)]


@pytest.mark.parametrize("habits", [*SOME, Habits(0.8, 0.5, 0.4, 0.2, 3.0, 0.5)])
def test_moves_are_chosen_as_often_as_habits_say(habits):
    candidates, streams, n = new_candidates(4, 2, 8), seed_streams(1), 4000
    candidates.actions[:], candidates.values[:] = range(4), VALUES
    candidates.groups[:], candidates.orientations[:] = GROUPS, ORIENTATIONS
    found = np.bincount([decide(candidates, 4, habits, streams) for _ in range(n)], minlength=4) / n
    np.testing.assert_allclose(found, naive_shares(habits, 100_000), atol=0.03)


def naive_shares(habits, n):
    """Return the frequency with which each move seems best, over ``n`` draws."""
    rng = np.random.default_rng(2)

    def errors(count):
        return 2 * (rng.random((n, count, 3)).sum(2) - 1.5)

    deviation = np.where(rng.random(n) < habits.lapses, habits.lapse, habits.misjudging)
    chances = np.array([habits.turning] * 4 + [habits.flipping] * 4 + [1.0])
    tried = rng.random((n, 9)) < chances
    seeming = VALUES + (deviation[:, None] * errors(2))[:, GROUPS] + habits.carelessness * errors(4)
    seeming[~tried[:, ORIENTATIONS]] = -np.inf
    return np.bincount(seeming.argmax(1), minlength=4) / n


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_a_seed_for_every_move_decides_on_the_whole_game(game):
    openings = [tuple(play("partner:level=1", new_game(game), 4, seed)) for seed in (*range(10), 0)]
    assert openings[0] == openings[-1]
    assert len(set(openings)) > 5


def test_the_default_level_is_the_middle_one():
    spec = "partner:level=3"
    assert (agents.load("partner").name, agents.load(spec).name) == ("partner", spec)
    assert play("partner", new_game("patchwork"), 10) == play(spec, new_game("patchwork"), 10)


def test_there_are_five_levels():
    for level in ("0", "6", "2.5", "strong"):
        with pytest.raises(ValueError, match="it must be an integer of 1 to 5"):
            agents.load(f"partner:level={level}")


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_levels_have_their_strength(game):
    assert play_matches("partner:level=3", "partner:level=1", 40, seed=2, game=game).win_rate > 0.85
    assert play_matches("partner:level=1", "random", 40, seed=2, game=game).win_rate > 0.9


def test_habits_concern_turns_patches_levels_and_places():
    def in_patchwork(habits, judged, seed=1):
        candidates = partner_of_patchwork.new_candidates()
        for k, (action, value) in enumerate(judged.items()):
            partner_of_patchwork._note(candidates, k, action, value)
        return decide(candidates, len(judged), habits, seed_streams(seed))

    def in_nmbr9(habits, judged, seed=1):
        candidates = partner_of_nmbr9.new_candidates()
        for k, (orientation, level, value) in enumerate(judged):
            partner_of_nmbr9._note(candidates, k, orientation * NUM_ANCHORS, level, value)
        return decide(candidates, len(judged), habits, seed_streams(seed)) // NUM_ANCHORS

    upright, flipped, turned = (buy_action(slot, o, 8, 8) for slot, o in ((0, 0), (1, 6), (2, 3)))
    judged = {ADVANCE: 0.5, upright: 1.0, flipped: 3.0, turned: 2.0}
    never = SURE._replace(flipping=0.0, turning=0.0)
    assert in_patchwork(SURE, judged) == flipped
    assert in_patchwork(SURE._replace(flipping=0.0), judged) == turned
    assert in_patchwork(never, judged) == ADVANCE  # in no orientation
    assert in_patchwork(never, {FIRST_SPECIAL + k: min(k, 5.0) for k in (0, 5, 6)}) == FIRST_SPECIAL + 5
    judged = {buy_action(slot, 0, 0, column): float(-column) for slot in (0, 1) for column in (0, 1)}
    patches = {in_patchwork(SURE._replace(misjudging=1.0), judged, seed) for seed in range(30)}
    assert patches == {buy_action(slot, 0, 0, 0) for slot in (0, 1)}
    assert {in_patchwork(SURE._replace(carelessness=3.0), judged, seed) for seed in range(30)} == set(judged)

    assert in_nmbr9(SURE, [(0, 0, 1.0), (1, 1, 3.0), (2, 0, 2.0)]) == 1
    assert in_nmbr9(never, [(0, 0, 1.0), (1, 1, 3.0), (2, 0, 2.0)]) == 1  # the best if all are overlooked
    tiles = [(0, 0, 1.0), (1, 0, 0.9), (2, 1, 1.0)]
    assert {in_nmbr9(SURE._replace(misjudging=1.0), tiles, seed) for seed in range(30)} == {0, 2}


def snuggest(states, i, width):
    """Advancing and the snuggest placements of each patch."""
    actions, anchors = np.empty(engine.MAX_LEGAL_ACTIONS, np.int16), np.empty((2, 25), np.uint64)
    engine.legal(states, i, anchors)
    return actions[: list_likely(states, i, width, anchors, new_ranking(), actions)].tolist()


@pytest.mark.parametrize("level", sorted(partner_of_patchwork.HABITS))
def test_patches_lie_snugly_on_every_level(level):
    states = many_states()[::8]
    chosen = agents.load(f"partner:level={level}", seed=1).act_batch(states)
    width = partner_of_patchwork.HABITS[level].placements
    assert all(action in snuggest(states, i, width) for i, action in enumerate(chosen))


def test_level_4_plays_the_best_move_of_a_short_search():
    _, evaluator, tree, work, candidates = partner_of_patchwork.new_player(4).args
    habits, chosen = SURE._replace(lookahead=300), np.zeros(1, np.int64)
    for seed in range(3):
        given = Game(seed=seed).state, seed_streams(1), chosen
        partner_of_patchwork.choose_ahead(habits, evaluator, tree, work, candidates, *given)
        edges = tree.edges[tree.nodes[0]["begin"] :][: tree.nodes[0]["count"]]
        values = np.where(edges["visits"] > 0, edges["values"][:, 0], -np.inf)
        assert (tree.nodes[0]["visits"], chosen[0]) == (300, edges["action"][values.argmax()])


def test_the_highest_level_is_the_champion():
    states = many_states()[::20]
    expected = agents.load("champion:instant").act_batch(states)
    assert agents.load("partner:level=5", seed=1).act_batch(states).tolist() == expected.tolist()


def snugness(game, player):
    """Return the pairs of empty neighbors, minus the maximum for this number of empty cells."""
    quilt = game.quilt(player)
    cells = int((~quilt).sum())
    return joints_of(quilt) - (2 * cells - math.ceil(2 * math.sqrt(cells)))


def test_the_beginner_weighs_costs_and_gains_of_a_move():
    states, player = Game(seed=1, first_player=1).state.copy(), 1
    states["position"] = 20  # with six income marks ahead
    game, candidates = Game.unchecked(states), partner_of_patchwork.new_candidates()
    count = partner_of_patchwork.judge_by_eye(states, 0, 16, new_expansion(), candidates)
    assert count > 30
    for action, value in zip(candidates.actions[:count].tolist(), candidates.values[:count], strict=True):
        after, patch = game.clone(), game.decode(action).patch
        after.play(action)
        expected = 1.1 - 0.8  # a button earned, a space moved
        if patch is not None:
            size, price, time, income = PATCHES[patch].size, *PATCHES[patch][1:]
            expected = 0.8 * 6 * income - 1.1 * price - 0.8 * time + 2 * (0.2 + 0.8 * (20 + time) / 53) * size
        assert value == pytest.approx(expected + 0.7 * (snugness(after, player) - snugness(game, player)))


def test_the_highest_digit_is_chosen():
    game = nmbr9.Game(order="free", max_digit=5, deck_size=7, seed=1)
    for level in partner_of_nmbr9.HABITS:
        assert agents.load(f"partner:level={level}").act(game) == FIRST_CHOICE + 5


@pytest.mark.parametrize("level", sorted(partner_of_nmbr9.HABITS))
def test_digits_are_chosen_and_tiles_placed_in_one_batch(level):
    choosing = nmbr9.Game(order="free", max_digit=5, deck_size=7, seed=1)
    placing = choosing.clone()
    placing.play(FIRST_CHOICE + 5)
    states, chosen = np.concatenate([game.state for game in (choosing, placing, choosing)]), np.full(3, -1)
    partner_of_nmbr9.new_player(level)(states, seed_streams(3), chosen)
    assert [chosen[0], chosen[2]] == [FIRST_CHOICE + 5] * 2
    assert chosen[1] in placing.legal_actions()

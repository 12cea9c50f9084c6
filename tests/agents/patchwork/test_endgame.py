"""The solver of endings against plain minimax over games."""

import random
from collections import Counter
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchwork_env.agents import GreedyAgent
from patchwork_env.agents.patchwork.endings import moves
from patchwork_env.agents.patchwork.endings.loose import list_loose_choices, loosen, play
from patchwork_env.agents.patchwork.endings.moves import PROSPECTS, coverable, most_gain, write_prospects
from patchwork_env.agents.patchwork.endings.solver import margin_of, new_solver, prove, solve, write_key
from patchwork_env.agents.patchwork.placements import NO_ACTION
from patchwork_env.patchwork import PATCHES, Game, engine
from patchwork_env.patchwork.engine import MAX_LEGAL_ACTIONS
from patchwork_env.patchwork.state import NOBODY
from tests.agents.positions import places_of
from tests.patchwork.endings import TooLargeError, made_up_ending, minimax, random_action, value_of
from tests.patchwork.naive import INCOME_SPACES, LAST_SPACE

pytestmark = pytest.mark.bounds

ENOUGH = 10_000_000
SOLVER = new_solver()


def check(game, solver=SOLVER):
    """Compare the value, and the value after the action, with minimax."""
    exact = minimax(game)
    is_solved, value, action = solve(game.state, 0, ENOUGH, solver, False)
    assert is_solved
    assert (margin_of(value), 1 if value % 4 == 1 else -1) == exact
    assert value_of(game, action) == exact
    is_solved, sign, _ = solve(game.state, 0, ENOUGH, solver, True)
    assert is_solved
    assert (sign > 0) == (value > 0)
    lower, action = prove(solver, game.state, 0, value)
    assert lower == value
    assert value_of(game, action) == exact
    assert prove(solver, game.state, 0, value + 2) == (value, NO_ACTION)


def played_ending(rng, style, spaces):
    """Return a position of a random or greedy game with few spaces left."""
    game, greedy = Game(seed=rng.randrange(2**32), first_player=rng.randrange(2)), GreedyAgent()
    while sum(game.positions) < 2 * LAST_SPACE - spaces:
        game.play(greedy.act(game) if style == "greedy" else random_action(game, rng, style))
    return game


def test_made_up_endings():
    rng, checked = random.Random(1), Counter()
    for _ in range(200):
        game = made_up_ending(rng)
        with suppress(TooLargeError):
            if not game.is_over:
                check(game)
            checked.update(pending=game.pending_special, bonus=game.bonus_owner is None, small=1)
    assert checked["pending"] > 10
    assert checked["bonus"] > 60
    assert checked["small"] > 180


def test_table_entries_of_one_ending_are_not_used_in_another():
    solver, rng = new_solver(), random.Random(3)
    game = made_up_ending(rng)
    while len(game.circle) < 3 or game.is_over:
        game = made_up_ending(rng)
    for last in (0, (1 << 16) - 1) * 3:
        solver.game[0] = last or solver.game[0]
        check(game, solver)
        assert 0 < solver.game[0] < 100
        states = game.state.copy()
        states[0]["circle"][1:3] = states[0]["circle"][2:0:-1]
        game = Game.unchecked(states)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(("any", "buys", "packs", "greedy")), st.integers(1, 14))
def test_best_play_reaches_the_value(seed, style, spaces):
    game = played_ending(random.Random(seed), style, spaces)
    if game.is_over:
        return
    player = game.current_player
    is_solved, value, _ = solve(game.state, 0, 500_000, SOLVER, False)
    if not is_solved:
        return
    assert prove(SOLVER, game.state, 0, value)[0] == value == prove(SOLVER, game.state, 0, value + 2)[0]
    while not game.is_over:
        is_solved, current, action = solve(game.state, 0, ENOUGH, SOLVER, False)
        assert is_solved
        assert current == (value if game.current_player == player else -value)
        game.play(action)
    own, other = game.scores()[player], game.scores()[1 - player]
    assert margin_of(value) == own - other
    assert (value > 0) == (game.winner() == player)


def test_the_budget_is_kept_and_the_state_left_as_it_was():
    game = played_ending(random.Random(6), "greedy", 12)
    for budget in (1, 100, 5000):
        before = game.to_bytes()
        is_solved, value, action = solve(game.state, 0, budget, SOLVER, False)
        assert game.to_bytes() == before
        assert SOLVER.buffers.evaluations[0] <= budget + MAX_LEGAL_ACTIONS + 2
        assert is_solved or (value, action) == (0, NO_ACTION)
    states = Game(seed=1).state.copy()
    states[0]["quilt"][1], game = (1 << 63) - 1, Game.unchecked(states)
    for only_outcome in (False, True):  # two quilts, then the placements
        found = solve(game.state, 0, 20, SOLVER, only_outcome), SOLVER.buffers.evaluations[0]
        assert found == ((False, 0, NO_ACTION), 1 + len(game.legal_actions()))


def test_attempts_that_fail_prove_nothing():
    """The effort is on record, since a solver that takes more solves fewer endings."""
    rng, answers, solver = random.Random(13), Counter(), new_solver()
    for _ in range(15):
        game = played_ending(rng, "greedy", 14)
        is_solved, value, _ = solve(game.state, 0, 100_000, solver, False)
        answers["values"] += int(solver.buffers.evaluations[0])
        for budget in (100, 300, 1000, 3000, 10_000) if is_solved else ():
            for limit in range(value - 8, value + 10, 2):
                solver.budget[0], solver.buffers.evaluations[0] = budget, 0
                bound, _ = prove(solver, game.state, 0, limit)
                answers["proofs"] += int(solver.buffers.evaluations[0])
                if solver.buffers.evaluations[0] <= budget:
                    assert (bound >= limit) == (value >= limit)
                    answers[budget] += 1
    assert answers == {1000: 5, 3000: 9, 10_000: 21, "proofs": 480_946, "values": 1_242_141}


def test_coverable_cells_are_those_of_all_placements():
    rng = random.Random(8)
    for _ in range(30):
        game = played_ending(rng, "any", rng.randint(20, 90))
        player = game.current_player
        words = [np.uint64(word) ^ np.uint64((1 << 63) - 1) for word in game.state[0]["quilt"][player]]
        for patch in game.circle[:3]:
            cells = frozenset().union(*places_of(game.quilt(player), patch))
            upper, lower = coverable(patch, *words)
            found = int(upper) | int(lower) << 18
            assert {divmod(bit, 9) for bit in range(81) if found >> bit & 1} == cells


SQUARES = [sum(127 << 9 * row + left for row in range(top, top + 7)) for top in range(3) for left in range(3)]


def judged(game, action):
    """Return the estimated gain of a move, and the quilt after it, as bits: empty cells, live cells, squares.

    The last are the cells of all squares that may still be completed; -1 if the move takes the bonus tile.
    """
    after, player, own = game.clone(), game.current_player, np.zeros(1, PROSPECTS)
    after.play(action)
    write_prospects(after.state, 0, player, False, own, 0)
    empty, live = (int(own[name][0, 0]) | int(own[name][0, 1]) << 18 for name in ("empty", "live"))
    marks = sum(mark > after.positions[player] for mark in INCOME_SPACES)
    worths = [g.scores()[player] + g.incomes[player] * marks - g.positions[player] for g in (game, after)]
    squares = -1 if after.bonus_owner == player != game.bonus_owner else 0
    for square in SQUARES if after.bonus_owner is None else ():
        squares |= square if (empty & ~live & square).bit_count() <= own["specials"][0] else 0
    return worths[1] - worths[0] + (live.bit_count() / 4 if action else 0), empty, live, squares


def dominates(one, other, bonus_is_free):
    """Whether the first of two moves makes a quilt that is at least as good, by the proved conditions."""
    (_, empty, _, squares), (_, other_empty, other_live, other_squares) = one, other
    is_later = other_squares < 0 or other_squares & empty & ~other_empty
    return not other_live & ~empty and not (bonus_is_free and squares >= 0 and is_later)


def test_all_placements_but_dominated_ones_are_listed_by_their_estimated_gains():
    rng, seen = random.Random(14), Counter()
    actions, estimates = np.zeros(MAX_LEGAL_ACTIONS, np.int64), np.zeros(MAX_LEGAL_ACTIONS)
    for game in filter(lambda game: not game.is_over, (made_up_ending(rng) for _ in range(250))):
        found = {action: judged(game, action) for action in game.legal_actions().tolist()}
        buffers, most, bonus_is_free = SOLVER.buffers, moves.MOST_PLACEMENTS, game.bonus_owner is None
        listed = actions[: moves.list_choices(game.state, 0, buffers, actions, estimates, most)].tolist()
        assert estimates[: len(listed)].tolist() == [found[action][0] for action in listed]
        assert estimates[: len(listed)].tolist() == sorted(estimates[: len(listed)], reverse=True)
        for action, move in found.items():
            of_kind = [found[other] for other in listed if (other - 1) // 648 == (action - 1) // 648]
            number = sum(dominates(other, move, bonus_is_free) for other in of_kind)
            assert number == 1 if action in listed else number > 0  # a listed one by itself
            seen[bonus_is_free, action in listed] += 1
    assert min(seen.values()) > 80, seen


def patches_of(game, player):
    """Return the times, sizes and gains of all patches that are left, counted."""
    marks = sum(mark > game.positions[player] for mark in INCOME_SPACES)
    left = (PATCHES[patch] for patch in game.circle)
    return Counter((p.time, p.size, 2 * p.size + p.income * marks - p.buttons - p.time) for p in left)


def test_no_play_gains_more_than_the_upper_bound_or_by_advancing_less_than_the_lower_one():
    rng, prospects = random.Random(9), np.zeros(2, PROSPECTS)
    for _ in range(60):
        game = played_ending(rng, "buys", rng.randint(1, 106))
        while not game.is_over:
            before = game.scores()
            most = []
            for player in range(2):
                write_prospects(game.state, 0, player, False, prospects, player)
                lists = (prospects[name][player].tolist() for name in ("times", "sizes", "gains"))
                listed = [*zip(*lists, strict=True)][: prospects["num_patches"][player]]
                assert Counter(listed) <= patches_of(game, player)
                most.append(most_gain(game.state, 0, player, prospects[player]))
            rest, spent, careful = game.clone(), [0, 0], rng.randrange(4)
            while not rest.is_over:
                is_careful = rest.current_player == careful and not rest.pending_special
                move = rest.decode(action := 0 if is_careful else random_action(rest, rng, "buys"))
                spent[rest.current_player] += 0 if move.patch is None else PATCHES[move.patch].buttons
                rest.play(action)
            gains = [rest.scores()[player] - before[player] for player in range(2)]
            assert all(gains[player] <= most[player] for player in range(2))
            assert careful > 1 or gains[careful] >= prospects[careful]["least"]
            assert all(spent[player] <= prospects[player]["spending"] for player in range(2))
            game.play(random_action(game, rng, "packs"))


@pytest.mark.parametrize(("count", "needed", "most"), [(4, 13, 26), (4, 14, 19), (1, 4, 15), (0, 2, 7)])
def test_an_upper_bound_by_hand(count, needed, most):
    """With six spaces left there is time for two patches and a last one, of at most 5, 4 and 3 cells."""
    (own,), states = np.zeros(1, PROSPECTS), Game(seed=1).state.copy()
    states["position"], own["sizes"][-1] = LAST_SPACE - 6, 9  # of no patch
    own["num_patches"], own["specials"], own["squares"], own["needed"], own["least"] = count, 1, 1, needed, 5
    own["times"][:4], own["sizes"][:4], own["gains"][:4] = (5, 1, 2, 9), (2, 5, 4, 3), (4, -1, -3, -2)
    assert most_gain(states, 0, 0, own) == most


def gain(game):
    """Return the change of the margin under best play for the player to move, and the first finisher."""
    own, other = game.scores()[game.current_player], game.scores()[1 - game.current_player]
    margin, first = minimax(game, 60)
    return margin - (own - other), first


def key_of(game):
    key, prospects = np.zeros_like(SOLVER.keys[0]), np.zeros(2, PROSPECTS)
    for player in range(2):
        write_prospects(game.state, 0, player, False, prospects, player)
    write_key(game.state, 0, prospects, NOBODY, 1, key)
    return key.tobytes()


def facts_of(game):
    """Return the facts that a key has about the two players, by its description."""
    prospects, facts = np.zeros(2, PROSPECTS), []
    for player, own in enumerate(prospects):
        write_prospects(game.state, 0, player, False, prospects, player)
        dead = -1 if own["squares"] else min(own["num_dead"], own["specials"])
        facts += [own["empty" if own["squares"] else "live"].tolist(), dead]
        income = game.incomes[player] if game.positions[player] < LAST_SPACE else 0
        facts += [min(game.buttons[player], own["spending"]), income]
    return facts


def slightly_changed(game, rng):
    """Return the same position with other buttons, another income, or other covered cells."""
    states, player, change = game.state.copy(), rng.randrange(2), rng.randrange(8)
    if change < 2:
        states[0][("buttons", "income")[change]][player] = rng.randrange(12)
        return Game.unchecked(states)
    quilt = game.quilt(player).ravel()
    if change == 4:
        quilt[:] = True
    for is_covered in {2: (False,), 3: (True,), 4: ()}.get(change, (False, True)):
        cells = np.flatnonzero(quilt != is_covered).tolist()
        if cells:
            quilt[rng.choice(cells)] = is_covered
    bits = sum(1 << int(cell) for cell in np.flatnonzero(quilt))
    states[0]["quilt"][player] = bits & (1 << 63) - 1, bits >> 18
    return Game.unchecked(states)


def test_positions_under_one_key_gain_the_same():
    rng, alike = random.Random(11), Counter()
    for _ in range(1200):
        game = made_up_ending(rng)
        other = slightly_changed(game, rng)
        for name in ("current_player", "pending_special", "income", "position"):
            states = game.state.copy()
            states[name] ^= 1
            assert key_of(game) != key_of(Game.unchecked(states)), name
        are_alike = key_of(game) == key_of(other)
        assert are_alike == (facts_of(game) == facts_of(other))
        is_new_square = any(engine.has_square(other.state, 0, player) for player in range(2))
        if game.is_over or game == other or (is_new_square and other.bonus_owner is None):
            continue
        if are_alike:
            with suppress(TooLargeError):
                assert gain(game) == gain(other)
                alike[sum((game.quilt(player) ^ other.quilt(player)).sum() for player in range(2))] += 1
    assert min(alike[changed] for changed in range(3)) > 10, alike


def value_against_loose(game, loose, known):
    """Return the best result against the player ``loose``, who has a loose quilt, by plain minimax."""
    if game.is_over:
        scores = game.scores()
        return scores[1 - loose] - scores[loose], 1 if game.first_finisher == 1 - loose else -1
    key = game.state.tobytes()
    if key not in known:
        if len(known) >= 300:
            raise TooLargeError
        known[key] = 0, 0  # counts from now on
        actions, is_loose = game.legal_actions(), game.current_player == loose
        if is_loose:
            actions = np.zeros(4, np.int64)
            actions = actions[: list_loose_choices(game.state, 0, SOLVER.buffers, actions, np.zeros(4))]
        values = []
        for action in actions.tolist():
            states = game.state.copy()
            play(states, 0, action, loose)
            values.append(value_against_loose(Game.unchecked(states), loose, known))
        known[key] = min(values) if is_loose else max(values)
    return known[key]


def test_a_purchase_covers_the_square_of_a_loose_quilt_first():
    for lacking, owner, squares in (0, 0, 1), (1, None, 1), (0, None, 0):
        (own,), states = np.zeros(1, PROSPECTS), Game(seed=1).state.copy()
        size, states["buttons"] = PATCHES[states[0]["circle"][0]].size, 30
        loosen(states, 0, 0, own)  # a full quilt, where no square may be completed
        own["live"][0], own["squares"], own["needed"] = (1 << 12) - 1, squares, size + lacking
        own["num_dead"], own["specials"] = 5, 2
        assert loosen(states, 0, 0, own) == 6
        actions = np.zeros(4, np.int64)
        list_loose_choices(states, 0, SOLVER.buffers, actions, np.zeros(4))
        play(states, 0, min(actions[actions > 0]), 0)
        game = Game.unchecked(states)
        assert (game.bonus_owner, (~game.quilt(0)).sum()) == (owner, 14 - size)
        assert (~game.quilt(0)[2:, 2:]).sum() == (lacking or 14 - size)


def test_a_loose_quilt_gives_a_bound():
    rng, prospects, counts = random.Random(12), np.zeros(2, PROSPECTS), Counter()
    for _ in range(250):
        game, loose = made_up_ending(rng), rng.randrange(2)
        if game.is_over:
            continue
        states = game.state.copy()
        write_prospects(states, 0, loose, False, prospects, loose)
        more = loosen(states, 0, loose, prospects[loose])
        with suppress(TooLargeError):
            margin, first = value_against_loose(Game.unchecked(states), loose, {})
            sign = 1 if game.current_player != loose else -1
            exact = tuple(sign * part for part in minimax(game, 300))
            assert (margin + more, first) <= exact
            counts[game.bonus_owner is None, (margin + more, first) == exact] += 1
    assert len(counts) == 4, counts
    assert min(counts.values()) > 3, counts

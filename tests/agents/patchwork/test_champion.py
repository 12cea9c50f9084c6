"""The agent that searches with a learned value."""

from __future__ import annotations

import _thread
import signal
import time
from collections import Counter

import numpy as np
import pytest

from patchwork_env import agents, nmbr9
from patchwork_env.agents import checkpoints
from patchwork_env.agents.compiled import write_weights
from patchwork_env.agents.patchwork.champion import agent as module
from patchwork_env.agents.patchwork.champion.agent import LEVELS, ChampionAgent, ValueAgent
from patchwork_env.agents.patchwork.champion.proofs import ensure_edge, solve_root, solved_action
from patchwork_env.agents.patchwork.champion.search import (
    ENOUGH,
    NO_LIMIT,
    NODE_EFFORT,
    QUILT_EFFORT,
    RULE,
    SHOWN,
    WIN,
    _list_best,
    calibrated,
    grow,
    reset_search,
)
from patchwork_env.agents.patchwork.endings.solver import margin_of, new_solver, solve
from patchwork_env.agents.patchwork.placements import NO_ACTION
from patchwork_env.agents.patchwork.value.expansion import TO_WIN, expand, expand_likely, new_expansion
from patchwork_env.agents.patchwork.value.network import new_weights
from patchwork_env.core.files import write_folder
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.engine import MAX_LEGAL_ACTIONS
from patchwork_env.search.best_first import OPENING, best_edge
from patchwork_env.search.tree import NOTHING, ROOT
from tests.agents.positions import play_forced
from tests.agents.values import simple_weights

WEIGHTS = simple_weights()
SOLVER = new_solver()


def champion(nodes=20, to_solve=None, weights=WEIGHTS):
    agent = ChampionAgent(weights, TO_WIN, nodes=nodes)
    agent.limits = agent.limits._replace(to_solve=to_solve or agent.limits.to_solve)
    return agent


def end_of_game(seed, turns_left):
    """Return a game of two agents without a search, this number of turns before its end."""
    agent, game = ValueAgent(WEIGHTS, TO_WIN), Game(seed=seed)
    while not game.is_over:
        game.play(agent.act(game))
    early = Game(seed=seed)
    for action in game.history[:-turns_left]:
        early.play(action)
    return early


def test_a_move_with_a_proved_win_has_probability_1():
    """Its learned value is low, and the solver's budget is too small for the margin."""
    game = Game.from_position(
        "patchwork/1 variant=revised player=1 pending_special=0 positions=43,42 buttons=12,28 "
        "incomes=13,13 bonus_owner=- first_finisher=- quilts=1#######1/####1###1/########1/#########/"
        "########1/1########/#########/##1#3##/#########,#########/#########/########1/########1/"
        "###1####1/5####/4####1/5#1#1/4###2 circle=14,9,16,8,1,12,0,2,3,18,29"
    )
    agent = agents.load("champion:fast")
    for lines in (agent.search(game), list(agent.deepen(game))[-1]):
        best = lines[0]
        assert best.action == agent.act(game)
        assert (best.win, best.exact) == (1.0, False)
        assert best.margin > 5
        assert best.visits > 100
    search, most = agent.workspace(), agent.limits.to_solve
    search._begin(game.state, 0)
    assert [search._solve(game, quilts) for quilts in (1, most - 1, most)] == [False, True, False]


@pytest.mark.parametrize(("seed", "turns_left"), [(3, 30), (5, 9), (6, 16)])
def test_nodes_and_edges_match_a_naive_expansion(seed, turns_left):
    """Forced moves are played; the best successors of each kind get edges, symmetric ones once."""
    game = end_of_game(seed, turns_left)
    search = champion(nodes=60).workspace()
    payoffs = TO_WIN._replace(margin=0.02, rival_weight=0.5)
    tree, evaluator = search.tree, search.evaluator._replace(payoffs=payoffs)
    reset_search(tree, search.work, evaluator, game.state, 0)
    grow(tree, search.work, evaluator, 60, NO_LIMIT, False, 0)
    expansion, exact, new_quilts = new_expansion(), 0, int(search.work.expansion.quilts.added[0])
    effort = NODE_EFFORT * int(tree.nodes[ROOT]["visits"]) + QUILT_EFFORT * new_quilts
    play_forced(after := game.clone())
    effort += len(after.history) - len(game.history)
    for node in range(tree.sizes[0]):
        game, record = Game.from_state(tree.states, node), tree.nodes[node]
        edges = tree.edges[record["begin"] : record["begin"] + record["count"]]
        exact += game.is_over
        if game.is_over:
            sides = [(game.scores()[p], game.winner() == p) for p in range(2)]
            assert record["values"] == pytest.approx(values_of(*sides, evaluator.payoffs), abs=1e-4)
            assert (record["count"], record["player"]) == (0, 0)
            continue
        assert len(game.legal_actions()) > 1
        assert record["player"] == game.current_player
        count = expand_likely(game.state, 0, 16 if node == ROOT else 4, evaluator.weights, expansion)
        effort += count
        expected = considered(expansion, count, 4 if node == ROOT else 2, evaluator.payoffs)
        assert edges["action"].tolist() == [int(expansion.actions[k]) for k, _ in expected]
        firsts = np.array([edge_values(expansion, k, evaluator)[0] for k, _ in expected])
        weights = np.exp((firsts - firsts[0]) / RULE.temperature) * [0.2**number for _, number in expected]
        assert edges["prior"] == pytest.approx(weights / weights.sum(), abs=1e-3)
        for edge, (k, _) in zip(edges, expected, strict=True):
            if edge["child"] == NOTHING:
                assert edge["values"] == pytest.approx(edge_values(expansion, k, evaluator), abs=2e-3)
                continue
            after = game.clone()
            after.play(int(edge["action"]))
            play_forced(after)
            effort += len(after.history) - 1  # forced moves
            assert after.state.tobytes() == tree.states[edge["child"]].tobytes()
    assert search.work.effort[0] == effort
    assert turns_left > 9 or exact
    made_up = search.work.expansion  # two equal the first in all, one in utility, one in margin
    made_up.owns[:5], made_up.others[:5], made_up.wins[:5] = 9, [5, 5, 4, 5, 5], [0, 0, 0, 1, 2e-6]
    assert _list_best(search.work, TO_WIN._replace(margin=0.0), 5) == 3
    assert search.work.best[:3].tolist() == [3, 0, 2]


def test_probabilities_to_win_are_calibrated():
    early, late = Game(seed=1), end_of_game(seed=5, turns_left=9)
    assert sum(late.positions) == 2 * 53 - 17
    for game, win, expected in (
        *((early, 0.65, 0.8171), (early, 0.5, 0.4997), (early, 0.2, 0.0337)),
        *((late, 0.9, 0.6467), (late, 0.0, 0.0), (late, 1.0, 1.0)),
    ):
        assert calibrated(win, game.state, 0) == pytest.approx(expected, abs=1e-4)


def test_probabilities_of_the_shipped_value_are_calibrated_when_it_plays_to_win():
    """It was fitted to games of the shipped value with this aim, and not to the value without a search."""
    game, stated = Game(seed=2), {}
    for aim in ("win", "rich", "margin", "score"):
        agent = agents.load(f"champion:nodes=50,aim={aim}")
        win, tree = agent.search(game)[0].win, agent.workspace().tree
        stated[aim] = win, float(tree.edges[best_edge(tree, ROOT)]["values"][WIN])
        values = {line.action: line.win for line in agent.evaluate_moves(game)}
        count = expand(game.state, 0, agent.workspace().evaluator.weights, expansion := new_expansion())
        assert values == dict(zip(expansion.actions[:count], expansion.wins[:count], strict=True))
    assert stated["win"][0] == calibrated(stated["win"][1], game.state, 0) != stated["win"][1]
    assert all(stated[aim][0] == stated[aim][1] for aim in ("rich", "margin", "score"))


@pytest.mark.parametrize("shown", [0, 3, SHOWN])
def test_an_analysis_visits_the_moves_that_it_shows(shown):
    """A quarter of the simulations is spent on them; the search would ignore two of these moves."""
    game, search = end_of_game(seed=4, turns_left=30), champion(nodes=4000).workspace()
    reset_search(search.tree, search.work, search.evaluator, game.state, 0)
    grow(search.tree, search.work, search.evaluator, 4000, NO_LIMIT, False, shown)
    visits = sorted(search.tree.edges["visits"][: search.tree.nodes[ROOT]["count"]].tolist())
    assert [number > 400 for number in visits] == [shown > 3, shown > 0, True, True]


def test_moves_with_few_visits_are_uncertain():
    agent = ChampionAgent(WEIGHTS, TO_WIN, nodes=2 * ENOUGH)
    for turns_left in (30, 12):
        first, *others = agent.search(game := end_of_game(seed=4, turns_left=turns_left))
        assert first.certain
        assert [line.certain for line in others] == [line.exact or line.visits >= ENOUGH for line in others]
        glances = agent.evaluate_moves(game)
        assert [line.certain for line in glances] == [line.exact for line in glances]


def test_threads_grow_one_tree_together():
    game, agent = Game(seed=4), ChampionAgent(WEIGHTS, TO_WIN, nodes=3000, threads=3)
    assert sum(line.visits for line in agent.search(game)) == 2999
    search, tree = agent.workspace(), agent.workspace().tree
    searches = [int(work.expansion.quilts.search[0]) for work in (search.work, *search._others)]
    assert searches == 3 * searches[:1]  # quilts of an earlier search would cost a thread nothing
    nodes, edges = tree.nodes[: tree.sizes[0]], tree.edges[: tree.sizes[1]]
    children = edges["child"][edges["child"] != NOTHING]
    assert sorted(children) == list(range(1, 3000))
    blocks = sorted((node["begin"], node["begin"] + node["count"]) for node in nodes if node["count"])
    assert [0, *(end for _, end in blocks)] == [*(begin for begin, _ in blocks), len(edges)]
    for number, node in enumerate(nodes[nodes["count"] > 0]):
        own = edges[node["begin"] : node["begin"] + node["count"]]
        assert own["visits"].sum() == node["visits"]
        before_visits = node["totals"] - own["visits"] @ own["values"].astype(float)
        assert before_visits[WIN : WIN + 2].sum() == pytest.approx(1, abs=1e-3)
        for edge in own[own["child"] != NOTHING] if number < 100 else ():
            after = Game.from_state(tree.states, np.flatnonzero(nodes["count"])[number])
            after.play(int(edge["action"]))
            play_forced(after)
            assert after.state.tobytes() == tree.states[edge["child"]].tobytes()
    reset_search(tree, search.work, search.evaluator, game.state, 0)
    for lock, child, stop in (1, NOTHING, 0), (0, OPENING, 0), (0, NOTHING, 1):
        search.work.lock[0], search.work.stop[0] = lock, stop
        tree.edges["child"][: tree.nodes[ROOT]["count"]] = child
        waits = grow(tree, search._others[0], search.evaluator, 9, 10_000, False, 0)
        assert (waits, search.work.lock[0], tree.nodes[ROOT]["visits"]) == (not stop, lock, 0)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers that interrupt")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # interrupts in callbacks
def test_after_interrupts_at_any_moment_moves_are_legal_and_no_thread_grows_a_tree():
    agent, random = ChampionAgent(WEIGHTS, TO_WIN, nodes=400, threads=3), np.random.default_rng(1)
    games = [end_of_game(seed, turns_left=30 - seed) for seed in range(1, 5)]
    agent.workspace().compile()
    abandoned, threads_before = 0, _thread._count()
    for trial in range(100):
        game, other, search = games[trial % 4], games[(trial + 1) % 4], agent.workspace()
        interrupt(lambda game=game: agent.act(game), random.uniform(0, 3e-3) + 1e-5, 3e-4)
        if search.is_abandoned:
            abandoned += 1
            deadline = time.monotonic() + 20
            while _thread._count() > threads_before:
                assert time.monotonic() < deadline
                time.sleep(0.001)
        assert agent.act(other) in other.legal_actions()
    assert abandoned > 25


def interrupt(call, first, second):
    """Call a function, and raise KeyboardInterrupt after ``first`` seconds and ``second`` seconds later."""
    left, calls = [1, 1], [call]

    def raise_interrupt(number, frame):
        if left:
            left.pop()
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, raise_interrupt)
    try:
        while left:
            try:
                if calls:
                    signal.setitimer(signal.ITIMER_REAL, first, second)
                    calls.pop()()
                left.clear()
            except KeyboardInterrupt:
                pass
    except KeyboardInterrupt:
        pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def considered(expansion, count, most, payoffs):
    """Return the successors that get edges, best first, each with its rank among those of its kind."""
    found: list[tuple[float, float, int]] = []
    for k in range(count):
        own, other = float(expansion.owns[k]), float(expansion.others[k])
        worth = payoffs.outcome * (2 * float(expansion.wins[k]) - 1)
        worth += payoffs.margin * (own - payoffs.rival_weight * other)
        if not any(abs(worth - w) < 1e-5 and abs(own - other - m) < 3e-4 for w, m, _ in found):
            found.append((worth, own - other, k))
    numbers, chosen = Counter[int](), list[tuple[int, int]]()
    for _, _, k in sorted(found, key=lambda each: -each[0]):
        kind = (int(expansion.actions[k]) - 1) // 648
        if numbers[kind] < most:
            chosen.append((k, numbers[kind]))
        numbers[kind] += 1
    return chosen


def edge_values(expansion, k, evaluator):
    own = float(expansion.owns[k]), float(expansion.wins[k])
    other = float(expansion.others[k]), 1 - float(expansion.wins[k])
    return values_of(own, other, evaluator.payoffs)


def values_of(own, other, payoffs):
    """Pairs of utilities, scores and probabilities to win, from scores and probabilities."""

    def worth(one, rival):
        margin = one[0] - payoffs.rival_weight * rival[0]
        return payoffs.outcome * (2 * one[1] - 1) + payoffs.margin * margin

    return [worth(own, other), worth(other, own), own[0], other[0], float(own[1]), float(other[1])]


def test_more_nodes_win():
    assert play_matches(champion(nodes=24), ValueAgent(WEIGHTS, TO_WIN), 60, seed=1).win_rate > 0.65


# --- lines ------------------------------------------------------------------------------------------------


def test_lines_begin_with_the_move_that_is_played():
    agent = champion(nodes=40)
    for seed in range(5):
        game = end_of_game(seed, 12 + seed)
        lines = agent.search(game)
        assert lines[0].action == agent.act(game)
        known, _, _ = solved_action(game.state, 0, TO_WIN, agent.limits.to_solve, SOLVER)
        assert known in (NO_ACTION, lines[0].action)
        if known == NO_ACTION and not lines[0].exact:
            assert lines[0].visits == max(line.visits for line in lines)
        worths = [TO_WIN.outcome * (2 * line.win - 1) + TO_WIN.margin * line.margin for line in lines[1:]]
        assert worths == pytest.approx(sorted(worths, reverse=True))
        for line in lines:
            assert line.variation[0] == line.action
            assert 0 <= line.win <= 1
            after = game.clone()
            for action in line.variation:
                after.play(action)


def test_a_forced_move_is_one_line_with_its_continuation():
    agent, game = champion(), Game(seed=3)
    while len(game.legal_actions()) > 1:
        game.play(game.legal_actions()[-1])
    for lines in (agent.search(game), list(agent.deepen(game))[-1]):
        (line,) = lines
        assert line.action == agent.act(game) == game.legal_actions()[0]
    (move,) = agents.analyse(game, agent).moves
    assert move.action == line.action
    assert len(move.line) > 1


# --- endings ----------------------------------------------------------------------------------------------


def exact_value(game, player, is_outcome_alone=False):
    """Return a player's result under perfect play: the margin, or its sign; the game must be near its end."""
    if game.is_over:
        scores, has_won = game.scores(), 1 if game.winner() == player else -1
        return has_won if is_outcome_alone else scores[player] - scores[1 - player]
    is_solved, value, _ = solve(game.state, 0, 5_000_000, SOLVER, is_outcome_alone)
    assert is_solved
    value = int(value if is_outcome_alone else margin_of(value))
    return value if game.current_player == player else -value


def test_an_ending_is_played_perfectly():
    for seed, spaces in (0, 90), (1, 90), (2, 90), (5, 104):  # in the last one, moves end the game
        game = end_of_game(seed, 6)
        while sum(game.positions) < spaces:
            game.play(champion().act(game))
        player = game.current_player
        best, lines = exact_value(game, player), champion(to_solve=3_000_000).search(game)
        assert lines[0].exact
        assert lines[0].margin == best
        assert lines[0].action == champion(to_solve=3_000_000).act(game)
        for line in (line for line in lines if line.exact):
            after = game.clone()
            after.play(line.action)
            assert exact_value(after, player) == line.margin <= best
            assert line.win == (exact_value(after, player, is_outcome_alone=True) > 0)


def test_an_ending_is_won_if_only_the_winner_can_be_proved():
    """With an untrained value, and a budget that suffices only to find the winner."""
    weights, margins = new_weights(seed=1), []
    for seed in range(30):
        game = end_of_game(seed, 9)
        for budget in (1000, 10_000):
            is_solved, value, winning = solve(game.state, 0, budget, SOLVER, True)
            effort = int(SOLVER.buffers.evaluations[0])
            if is_solved and value > 0 and not solve(game.state, 0, budget, SOLVER, False)[0]:
                effort += int(SOLVER.buffers.evaluations[0])
                for payoffs, action in (TO_WIN, winning), (TO_WIN._replace(outcome=0.0), NO_ACTION):
                    found = solved_action(game.state, 0, payoffs, budget, SOLVER)
                    assert found == (action, False, effort)
                after, agent = game.clone(), champion(2, budget, weights)
                after.play(agent.act(game))
                assert exact_value(after, game.current_player, is_outcome_alone=True) > 0
                margins.append(agent.search(game)[0].margin)
    assert min(margins) == 0


def test_successors_of_an_ending_are_solved_within_a_budget():
    """The best move is solved first; all four together take at most the budget of three."""
    game, agent = end_of_game(1, 12), champion()
    search = agent.workspace()
    tree, work, evaluator = search.tree, search.work, search.evaluator
    for budget, num_solved, least, most in (200, 0, 600, 700), (1_000_000, 4, 1, 500_000):
        reset_search(tree, work, evaluator, game.state, 0)
        assert tree.nodes[ROOT]["count"] == 4
        last = tree.edges[tree.nodes[ROOT]["begin"] + 3]
        tree.nodes["values"][1:] = np.nan  # the solver must not read these values
        effort = solve_root(tree, work, evaluator, last["action"], budget, SOLVER)
        assert tree.nodes[ROOT]["solved"] == tree.nodes[ROOT]["visits"] == num_solved
        assert least <= effort < most
    assert last["child"] == ROOT + 1
    agent = champion(nodes=600, to_solve=1_000_000)
    first, last = agent.deepen(game)  # the solver's first attempt has a smaller budget, and fails
    assert last == agent.search(game)
    assert last[0].exact > first[0].exact


def test_a_move_of_the_solver_that_the_value_left_out_gets_the_last_edge():
    game, search, expansion = Game(seed=4), champion().workspace(), new_expansion()
    reset_search(search.tree, search.work, search.evaluator, game.state, 0)
    edges = search.tree.edges[: search.tree.nodes[ROOT]["count"]]
    expected, left_out = edges.copy(), int(max(set(game.legal_actions()) - set(edges["action"])))
    count = expand(game.state, 0, search.evaluator.weights, expansion)
    k = expansion.actions[:count].tolist().index(left_out)
    expected["action"][-1], expected["prior"][[0, -1]] = left_out, 1
    expected["values"][-1] = edge_values(expansion, k, search.evaluator)
    for action in (left_out, edges["action"][0]):
        ensure_edge(search.tree, search.work, search.evaluator, int(action))
    for name in ("action", "prior", "values"):
        np.testing.assert_allclose(edges[name], expected[name], atol=2e-3)


# --- budgets and specs ------------------------------------------------------------------------------------


def test_budgets_are_kept(monkeypatch):
    """The clock advances by a second when it is read, and by five during every attempt of the solver."""
    game, read, compiled, tried = Game(seed=3), iter(range(999)).__next__, [], []

    def fail(states, i, payoffs, quilts, solver):
        tried.append(quilts)
        return NO_ACTION, not [read() for _ in range(5)], 30_000

    monkeypatch.setattr(module.Search, "compile", lambda search: compiled.append(read()))
    lines = champion(nodes=40).search(game)
    assert sum(line.visits for line in lines) == 39  # the root is a node, too
    for turns_left in (40, 12):
        agent = ChampionAgent(WEIGHTS, TO_WIN, level="instant")
        agent.search(end_of_game(1, turns_left))
        most_at_once = NODE_EFFORT + (1 + QUILT_EFFORT) * MAX_LEGAL_ACTIONS
        assert 0 <= agent.workspace().work.effort[0] - LEVELS["instant"] <= most_at_once
    monkeypatch.setattr(module, "perf_counter", read)
    monkeypatch.setattr(module, "_MOST_AT_ONCE", 10_000)
    monkeypatch.setattr(module, "solved_ending", fail)
    agent = ChampionAgent(WEIGHTS, TO_WIN)
    agent.act(game)
    assert agent.workspace().work.effort[0] < LEVELS["instant"] - 30_000 + most_at_once
    for seconds, threads, blocks, results, quilts in (
        (16, 1, 11, 6, [11_666, 8_000_000, 8_000_000, 28_180, 11_666, 23_333, 8_000_000]),
        (0.02, 2, 1, 1, [10_000] * 3),
    ):
        agent = ChampionAgent(WEIGHTS, TO_WIN, seconds=seconds, threads=threads)
        for think in (agent.act, agent.search):
            lines = think(game)
            assert agent.workspace().tree.nodes[ROOT]["visits"] == 128 * blocks * threads
        assert threads > 1 or lines == champion(nodes=128 * blocks + 1).search(game)
        assert len(list(agent.deepen(game))) == results
        assert (tried, len(compiled)) == (quilts, 2)  # once for the moves, once for the analysis
        tried.clear(), compiled.clear()


@pytest.mark.parametrize("budget", [{"nodes": 400}, {"level": "instant"}])
def test_a_search_ends_when_no_other_move_can_become_the_most_visited_one(budget):
    agent = ChampionAgent(WEIGHTS, TO_WIN, **budget)
    search, tree, limits = agent.workspace(), agent.workspace().tree, agent.limits
    for seed in (1, 2, 4):
        agent.act(game := end_of_game(seed, turns_left=30))
        visits = search._added
        for number in (visits, visits - 1):
            search._begin(game.state, 0)
            search._grow(number, NO_LIMIT)
            spent = int(search.work.effort[0])
            at_this_pace = (limits.effort - spent) * (number + 1) // spent + 1
            *_, second, first = sorted(tree.edges["visits"][: tree.nodes[ROOT]["count"]].tolist())
            is_decided = first - second > min(limits.simulations - number, at_this_pace)
            assert is_decided == (number == visits)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "final"
    write_folder(folder, lambda target: write_weights(target, PATCHWORK, WEIGHTS, {}))
    return folder


def test_a_spec_gives_a_budget(checkpoint, monkeypatch):
    """Without a budget, a checkpoint plays without a search, unless it is shipped."""
    assert isinstance(agents.load(checkpoint), ValueAgent)
    instant, strong = (17_499, 35_000, 11_666, None), (199_999, 4_400_000, 1_466_666, None)
    few, short = (6, NO_LIMIT, 140, None), (199_999, NO_LIMIT, 250_000, 0.5)
    for option, limits, name in (
        (":threads=1", instant, "final:threads=1"),
        (":strong", strong, "final:strong"),
        (":level=strong,aim=win", strong, "final:strong"),
        (":nodes=7,aim=score", few, "final:nodes=7,aim=score"),
        (":seconds=0.5", short, "final:seconds=0.5"),
    ):
        agent = agents.load(f"{checkpoint}{option}")
        assert isinstance(agent, ChampionAgent)
        assert (agent.limits, agent.name) == (limits, name)
    packed = checkpoints.pack((checkpoint / checkpoints.WEIGHTS_FILE).read_bytes())
    (checkpoint / checkpoints.PACKED_FILE).write_bytes(packed)
    monkeypatch.setattr(checkpoints, "SHIPPED_FOLDER", checkpoint.parent)
    agent = agents.load("final")
    assert isinstance(agent, ChampionAgent)
    assert (agent.name, agent.limits) == ("final", instant)
    assert agents.load("final:strong").limits == strong
    assert agents.path_of("final:strong") == checkpoint


@pytest.mark.slow
def test_the_aim_is_an_option():
    specs = [f"champion:nodes=20,aim={aim}" for aim in ("win", "rich", "score")]
    win, rich, score = (play_matches(spec, spec, 40, seed=1).means(0) for spec in specs)
    assert win["score"] + 5 < rich["score"] < score["score"]
    assert score["score"] > win["score"] + 10
    assert win["empty_cells"] > rich["empty_cells"] > score["empty_cells"]


def test_wrong_budgets_and_options_are_errors(checkpoint):
    for spec, message in (
        ("champion:nodes=1", "'1'; it must be an integer of 2 to 200000"),
        ("champion:seconds=0", "'0'; it must be a number above 0"),
        ("champion:threads=65", "'65'; it must be an integer of 1 to 64"),
        ("champion:aim=peace", "'peace'; it must be one of win, rich, margin, score"),
        ("champion:level=slow", "'slow'; it must be one of instant, fast, strong, analysis"),
        (f"{checkpoint}:nodes=9,seconds=1", "nodes=9 and seconds=1.0; give one of them"),
        (f"{checkpoint}:sample=true", "has no option 'sample'; its options: level, nodes, seconds"),
        ("champion:fast:threads=4", "of 'champion:fast' need the form champion:key=value; those of .* nodes"),
        ("champion:slow", "'champion:slow' need .*threads; levels: instant, fast, strong, analysis"),
    ):
        with pytest.raises(ValueError, match=message):
            agents.load(spec)
    agent = champion()
    for think in (ValueAgent(WEIGHTS, TO_WIN).act, agent.search, agent.deepen, agent.evaluate_moves):
        with pytest.raises(ValueError, match="plays patchwork, not nmbr9"):
            think(nmbr9.Game(seed=1))

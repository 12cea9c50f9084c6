"""The agent that searches with a learned value."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.agents import Agent, checkpoints
from patchwork_env.agents.compiled import arrays_of, write_weights
from patchwork_env.agents.patchwork import analysis
from patchwork_env.agents.patchwork.champion import LEVELS, ChampionAgent, ValueAgent, load
from patchwork_env.agents.patchwork.dynamics import NO_ACTION
from patchwork_env.agents.patchwork.endgame import margin_of, new_solver, solve
from patchwork_env.agents.patchwork.expansion import (
    TO_WIN,
    Expansion,
    Payoffs,
    expand_likely,
    new_expansion,
)
from patchwork_env.agents.patchwork.search import (
    EMPTY,
    NO_LIMIT,
    NODE_EFFORT,
    QUILT_EFFORT,
    RULE,
    SCORE,
    UTILITY,
    WIN,
    Settings,
    grow,
    reset_search,
    solve_root,
    solved_action,
    solved_ending,
)
from patchwork_env.agents.patchwork.value import SHAPES, Weights, new_weights
from patchwork_env.core.files import write_folder
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.patchwork import Game
from patchwork_env.patchwork.engine import MAX_LEGAL_ACTIONS
from patchwork_env.search.tree import NOTHING, ROOT
from tests.agents.positions import many_states
from tests.agents.values import simple_weights

PAYOFFS, MARGIN_ALONE = TO_WIN, Payoffs(0.0, 1.0)
WEIGHTS = simple_weights()
SOLVER = new_solver()


def champion(nodes: int = 20, to_solve: int | None = None, weights: Weights = WEIGHTS) -> ChampionAgent:
    agent = ChampionAgent(weights, PAYOFFS, nodes=nodes)
    if to_solve is not None:
        agent.limits = agent.limits._replace(to_solve=to_solve)
    return agent


def end_of_game(seed: int, turns_left: int) -> Game:
    """A game between two players without foresight, so many turns before its end."""
    agent, game = ValueAgent(WEIGHTS, PAYOFFS), Game(seed=seed)
    while not game.is_over:
        game.play(agent.act(game))
    early = Game(seed=seed)
    for action in game.history[:-turns_left]:
        early.play(action)
    return early


def exact_margin(game: Game, player: int) -> int:
    """What perfect play gets for a player; the game must be near its end."""
    if game.is_over:
        scores = game.scores()
        return scores[player] - scores[1 - player]
    is_solved, value, _ = solve(game.state, 0, 5_000_000, SOLVER, False)
    assert is_solved
    margin = int(margin_of(value))
    return margin if game.current_player == player else -margin


def margin_after(agent: Agent, game: Game) -> int:
    """What perfect play gets for the player to move once an agent has played a move."""
    after = game.clone()
    after.play(agent.act(game))
    return exact_margin(after, game.current_player)


@pytest.fixture(scope="module")
def states():
    return many_states()[::5].copy()


def test_actions_are_legal_and_the_same_each_time(states) -> None:
    agent = champion()
    actions = agent.act_batch(states)
    assert all(actions[i] in Game.from_state(states, i).legal_actions() for i in range(len(states)))
    assert np.array_equal(agent.act_batch(states), actions)
    assert np.array_equal(champion().act_batch(states), actions)


def test_a_batch_is_played_like_single_games_which_stay_as_they_are(states) -> None:
    agent, before = champion(), states.copy()
    games = [Game.from_state(states, i) for i in range(len(states))]
    assert [agent.act(game) for game in games] == agent.act_batch(states).tolist()
    assert np.array_equal(states, before)
    assert all(np.array_equal(game.state[0], before[i]) for i, game in enumerate(games))


def test_a_search_stays_within_its_nodes() -> None:
    agent, game = champion(nodes=40), Game(seed=1)
    lines = agent.search(game)
    assert sum(line.visits for line in lines) == 39  # the root is a node, too
    assert game.history == ()


def test_lines_begin_with_the_move_that_is_played() -> None:
    agent = champion(nodes=40)
    for seed in range(5):
        game = end_of_game(seed, 12 + seed)
        lines = agent.search(game)
        assert lines[0].action == agent.act(game)
        known, _, _ = solved_action(game.state, 0, PAYOFFS, agent.limits.to_solve, SOLVER)
        assert known in (NO_ACTION, lines[0].action)
        if known == NO_ACTION and not lines[0].exact:
            assert lines[0].visits == max(line.visits for line in lines)
        worths = [PAYOFFS.outcome * (2 * line.win - 1) + PAYOFFS.margin * line.margin for line in lines[1:]]
        assert worths == pytest.approx(sorted(worths, reverse=True))
        for line in lines:
            assert line.variation[0] == line.action
            assert 0 <= line.win <= 1
            after = game.clone()
            for action in line.variation:
                after.play(action)


def test_a_move_that_surely_wins_is_said_to_win() -> None:
    """The value thinks little of it, and by how much it wins takes the solver too long to find out."""
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


@pytest.mark.parametrize(("seed", "turns_left"), [(3, 30), (5, 9), (6, 16)])
def test_nodes_are_opened_as_the_description_says(seed: int, turns_left: int) -> None:
    """Forced moves are played on; of each kind the best few successors are considered, alike ones once."""
    game = end_of_game(seed, turns_left)
    search = champion(nodes=60).workspace()
    tree, settings = search.tree, search.settings._replace(payoffs=Payoffs(1.0, 0.02, 0.5))
    reset_search(tree, search.work, game.state, 0)
    grow(tree, search.work, settings, 60, NO_LIMIT, False)
    expansion, exact = new_expansion(), 0
    for node in range(tree.sizes[0]):
        game, record = Game.from_state(tree.states, node), tree.nodes[node]
        edges = tree.edges[record["begin"] : record["begin"] + record["count"]]
        exact += game.is_over
        if game.is_over:
            sides = [(game.scores()[p], (~game.quilt(p)).sum(), game.winner() == p) for p in range(2)]
            assert record["values"] == pytest.approx(values_of(*sides, settings.payoffs), abs=1e-4)
            assert (record["count"], record["player"]) == (0, 0)
            continue
        assert len(game.legal_actions()) > 1
        assert record["player"] == game.current_player
        count = expand_likely(game.state, 0, 16 if node == ROOT else 4, settings.weights, expansion)
        expected = considered(expansion, count, 4 if node == ROOT else 2, settings.payoffs)
        assert edges["action"].tolist() == [int(expansion.actions[k]) for k, _ in expected]
        firsts = np.array(
            [values[0] for values in (edge_values(expansion, k, settings) for k, _ in expected)]
        )
        weights = np.exp((firsts - firsts[0]) / RULE.temperature) * [0.2**number for _, number in expected]
        assert edges["prior"] == pytest.approx(weights / weights.sum(), abs=1e-3)
        for edge, (k, _) in zip(edges, expected, strict=True):
            if edge["child"] == NOTHING:
                assert edge["values"] == pytest.approx(edge_values(expansion, k, settings), abs=2e-3)
                continue
            after = game.clone()
            after.play(int(edge["action"]))
            while not after.is_over and len(after.legal_actions()) == 1:
                after.play(after.legal_actions()[0])
            assert after.state.tobytes() == tree.states[edge["child"]].tobytes()
    assert turns_left > 9 or exact


def considered(expansion: Expansion, count: int, most: int, payoffs: Payoffs) -> list[tuple[int, int]]:
    """The successors that get edges, best first, with how many better ones of their kind there are."""
    found: list[tuple[float, float, int]] = []
    for k in range(count):
        own, other = float(expansion.owns[k]), float(expansion.others[k])
        worth = payoffs.outcome * (2 * float(expansion.wins[k]) - 1)
        worth += payoffs.margin * (own - payoffs.rival_weight * other)
        if not any(abs(worth - w) < 1e-5 and abs(own - other - m) < 3e-4 for w, m, _ in found):
            found.append((worth, own - other, k))
    numbers: Counter[int] = Counter()
    chosen = []
    for _, _, k in sorted(found, key=lambda each: -each[0])[:64]:
        kind = (int(expansion.actions[k]) - 1) // 648
        if numbers[kind] < most:
            chosen.append((k, numbers[kind]))
        numbers[kind] += 1
    return chosen


def edge_values(expansion: Expansion, k: int, settings: Settings) -> list[float]:
    own = float(expansion.owns[k]), float(expansion.empties[k, 0]), float(expansion.wins[k])
    other = float(expansion.others[k]), float(expansion.empties[k, 1]), 1 - float(expansion.wins[k])
    return values_of(own, other, settings.payoffs)


def values_of(own: tuple, other: tuple, payoffs: Payoffs) -> list[float]:
    """Pairs of utilities, scores, chances to win and empty cells, of scores, empty cells and chances."""

    def worth(one: tuple, rival: tuple) -> float:
        return payoffs.outcome * (2 * one[2] - 1) + payoffs.margin * (
            one[0] - payoffs.rival_weight * rival[0]
        )

    pairs = {UTILITY: (worth(own, other), worth(other, own)), SCORE: (own[0], other[0])}
    pairs |= {WIN: (own[2], other[2]), EMPTY: (own[1], other[1])}
    return [float(number) for first in sorted(pairs) for number in pairs[first]]


def test_a_forced_move_is_one_line_with_what_follows() -> None:
    agent, game = champion(), Game(seed=3)
    while len(game.legal_actions()) > 1:
        game.play(game.legal_actions()[-1])
    (line,) = agent.search(game)
    assert line.action == agent.act(game) == game.legal_actions()[0]
    assert len(line.variation) > 1


@pytest.mark.parametrize("seed", range(5))
def test_an_ending_is_played_perfectly(seed: int) -> None:
    game = end_of_game(seed, 6)
    while sum(game.positions) < 90:
        game.play(champion().act(game))
    best = exact_margin(game, game.current_player)
    agent = champion(to_solve=3_000_000)
    assert margin_after(agent, game) == best
    lines = agent.search(game)
    assert lines[0].exact
    assert lines[0].margin == best
    for line in (line for line in lines if line.exact):
        after = game.clone()
        after.play(line.action)
        assert exact_margin(after, game.current_player) == line.margin <= best
        assert line.win == (line.margin > 0) or line.margin == 0


def test_what_follows_the_moves_of_an_ending_is_solved_within_a_budget() -> None:
    """The best move comes first, and all four together look at no more quilts than three of them may."""
    game, agent = end_of_game(1, 12), champion()
    search = agent.workspace()
    tree, work, settings = search.tree, search.work, search.settings
    for budget, num_solved in (200, 0), (1_000_000, 4):
        reset_search(tree, work, game.state, 0)
        grow(tree, work, settings, 0, NO_LIMIT, False)
        assert tree.nodes[ROOT]["count"] == 4
        first = tree.nodes[ROOT]["begin"]
        last, expected = tree.edges[first + 3], tree.edges["values"][first : first + 4, EMPTY:].copy()
        tree.nodes["values"][1:] = np.nan  # nothing of what lies in memory is taken for a value
        effort = solve_root(tree, work, settings, last["action"], budget, SOLVER)
        assert tree.nodes[ROOT]["solved"] == num_solved
        assert (tree.edges["values"][first : first + 4, EMPTY:] == expected).all()
        assert effort < 3.5 * budget
    assert last["child"] == ROOT + 1


def test_the_time_of_a_search_includes_that_of_the_ending(monkeypatch) -> None:
    now = 0.0

    def solve_slowly(*arguments):
        nonlocal now
        now += 2.0
        return solved_ending(*arguments)

    monkeypatch.setattr(analysis, "perf_counter", lambda: now)
    monkeypatch.setattr(analysis, "solved_ending", solve_slowly)
    lines = ChampionAgent(WEIGHTS, PAYOFFS, seconds=1.0).search(Game(seed=3))
    assert sum(line.visits for line in lines) == 16


def test_a_move_whose_time_is_over_at_once_is_searched_all_the_same() -> None:
    game, hurried = Game(seed=3), ChampionAgent(WEIGHTS, PAYOFFS, seconds=1e-9)
    assert hurried.act(game) == champion(nodes=17).search(game)[0].action


def test_endings_are_played_better_than_with_one_ply() -> None:
    """By a value that knows nothing."""
    weights = new_weights(seed=1)
    arrays_of(weights)["weights_3"][:] = np.random.default_rng(1).normal(size=SHAPES["weights_3"])
    one_ply, searcher = ValueAgent(weights, PAYOFFS), champion(to_solve=3_000_000, weights=weights)
    gains = []
    for seed in range(20):
        game = end_of_game(seed, 8)
        while sum(game.positions) < 88:
            game.play(searcher.act(game))
        gains.append(margin_after(searcher, game) - margin_after(one_ply, game))
    assert min(gains) == 0
    assert max(gains) > 0


def test_more_nodes_win() -> None:
    result = play_matches(champion(nodes=24), ValueAgent(WEIGHTS, PAYOFFS), 60, seed=1)
    assert result.win_rate > 0.65


def test_a_budget_of_time() -> None:
    game, agent = Game(seed=2), ChampionAgent(WEIGHTS, PAYOFFS, seconds=0.02)
    few = sum(line.visits for line in agent.search(game))
    longer = ChampionAgent(WEIGHTS, PAYOFFS, seconds=0.2)
    assert 0 < few < sum(line.visits for line in longer.search(game))
    assert agent.act(game) in game.legal_actions()


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"level": "slow"}, "level is 'slow'; allowed are 'instant', 'fast', 'strong', 'analysis'"),
        ({"nodes": 1}, "nodes is 1; allowed are 2 to"),
        ({"nodes": 2.5}, "nodes must be an integer, not 2.5"),
        ({"seconds": 0}, "seconds is 0; it must be above 0"),
        ({"seconds": float("inf")}, "seconds is inf; it must be above 0 and finite"),
        ({"level": "fast", "nodes": 5}, "level=fast and nodes=5; give one of them"),
    ],
)
def test_a_wrong_budget_is_an_error(budget, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChampionAgent(WEIGHTS, PAYOFFS, **budget)


def test_levels_are_budgets() -> None:
    assert ChampionAgent(WEIGHTS, PAYOFFS).limits.effort == LEVELS["instant"]
    for level, effort in LEVELS.items():
        assert ChampionAgent(WEIGHTS, PAYOFFS, level=level).limits.effort == effort


def test_agents_are_pickled_without_their_room() -> None:
    agent, game = agents.load("champion:fast"), end_of_game(1, 12)
    data = pickle.dumps(agent)
    assert len(data) < 6_000_000
    assert pickle.loads(data).act(game) == agent.act(game)


@pytest.mark.parametrize("turns_left", [40, 12])
def test_a_level_ends_with_the_node_that_spends_it(turns_left: int) -> None:
    agent = ChampionAgent(WEIGHTS, PAYOFFS, level="instant")
    agent.search(end_of_game(1, turns_left))
    most_at_once = NODE_EFFORT + (1 + QUILT_EFFORT) * MAX_LEGAL_ACTIONS
    assert 0 <= agent.workspace().work.effort[0] - LEVELS["instant"] <= most_at_once


def test_a_game_that_is_over_is_an_error() -> None:
    game = end_of_game(1, 1)
    while not game.is_over:
        game.play(game.legal_actions()[0])
    for call in (champion().act, champion().search):
        with pytest.raises(ValueError, match="the game is over"):
            call(game)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "final"
    write_folder(folder, lambda target: write_weights(target, PATCHWORK, WEIGHTS, {}))
    return folder


def test_a_checkpoint_searches_if_its_spec_gives_a_budget(checkpoint) -> None:
    assert isinstance(agents.load(checkpoint), ValueAgent)
    fast, few = (
        ChampionAgent(WEIGHTS, PAYOFFS, **given).limits for given in ({"level": "fast"}, {"nodes": 7})
    )
    for option, limits in ((":fast", fast), (":level=fast", fast), (":nodes=7", few)):
        agent = agents.load(f"{checkpoint}{option}")
        assert isinstance(agent, ChampionAgent)
        assert agent.limits == limits
    assert agents.load(f"{checkpoint}:level=fast").name == "final:fast"
    assert agents.load(f"{checkpoint}:seconds=0.5").limits.seconds == 0.5
    game = Game(seed=1)
    assert agents.load(f"{checkpoint}:nodes=20").act(game) == champion(nodes=20).act(game)


@pytest.mark.slow
def test_what_it_plays_for_is_an_option(checkpoint) -> None:
    specs = [f"champion:nodes=20,aim={aim}" for aim in ("win", "rich", "score")]
    win, rich, score = (play_matches(spec, spec, 40, seed=1).means(0) for spec in specs)
    assert win["score"] + 5 < rich["score"] < score["score"]
    assert score["score"] > win["score"] + 10
    assert win["empty_cells"] > rich["empty_cells"] > score["empty_cells"]
    assert agents.load(f"{checkpoint}:nodes=20,aim=score").name == "final:nodes=20,aim=score"
    assert agents.load(f"{checkpoint}:level=fast,aim=win").name == "final:fast"
    assert agents.load(f"{checkpoint}:aim=margin").name == "final:aim=margin"
    assert agents.load(f"{checkpoint}:aim=rich").name == "final:aim=rich"
    with pytest.raises(
        ValueError, match=r"'aim' of .* is 'peace'; it must be one of win, rich, margin, score"
    ):
        agents.load(f"{checkpoint}:aim=peace")
    with pytest.raises(ValueError, match=r"aim is 'peace'; allowed are 'win', 'rich', 'margin', 'score'"):
        load(checkpoint, aim="peace")


def test_an_ending_is_won_that_is_too_large_to_be_solved_further() -> None:
    """By a value that knows nothing and a budget for little more than the question who wins."""
    weights, won = new_weights(seed=1), 0
    for seed in range(30):
        game = end_of_game(seed, 9)
        for budget in (1000, 10_000):
            is_solved, value, _ = solve(game.state, 0, budget, SOLVER, True)
            if is_solved and value > 0 and not solve(game.state, 0, budget, SOLVER, False)[0]:
                assert exact_margin_sign(champion(2, budget, weights), game) > 0
                won += 1
    assert won > 0


def exact_margin_sign(agent: Agent, game: Game) -> int:
    """Who wins after an agent's move if both play on perfectly; above 0 for the player who moved."""
    after = game.clone()
    after.play(agent.act(game))
    if after.is_over:
        return 1 if after.winner() == game.current_player else -1
    is_solved, value, _ = solve(after.state, 0, 5_000_000, SOLVER, True)
    assert is_solved
    return value if after.current_player == game.current_player else -value


def test_a_value_that_comes_with_the_package_searches_at_once(checkpoint, monkeypatch) -> None:
    monkeypatch.setattr(checkpoints, "SHIPPED_FOLDER", checkpoint.parent)
    agent = agents.load("final")
    assert isinstance(agent, ChampionAgent)
    assert (agent.name, agent.limits.effort) == ("final", LEVELS["instant"])
    assert agents.load("final:strong").limits.effort == LEVELS["strong"]
    assert agents.path_of("final:strong") == checkpoint
    with pytest.raises(ValueError, match=r"'final' has no level 'slow'; .* instant, fast, strong, analysis"):
        agents.load("final:slow")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("level=slow", "option 'level' of agent .* is 'slow'; it must be one of instant, fast"),
        ("nodes=1", "option 'nodes' of agent .* is '1'; it must be an integer of 2 to"),
        ("nodes=9,seconds=1", "nodes=9 and seconds=1.0; give one of them"),
        ("sample=true", "has no option 'sample'; its options: level, nodes, seconds"),
    ],
)
def test_a_wrong_option_of_a_value_is_an_error(checkpoint, options: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agents.load(f"{checkpoint}:{options}")


def test_other_agents_have_no_levels() -> None:
    with pytest.raises(ValueError, match="agent 'greedy' has no option 'level'; its options: none"):
        agents.load("greedy:fast")

"""Search with a value in NMBR 9: it uses no hidden cards, maximizes its own score, and keeps its budget."""

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.agents.compiled import aligned_records, write_weights
from patchwork_env.agents.nmbr9 import champion
from patchwork_env.agents.nmbr9.champion import LEVELS, ChampionAgent, ValueAgent
from patchwork_env.agents.nmbr9.greedy import choose_action
from patchwork_env.agents.nmbr9.value import WEIGHTS, new_weights
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.files import write_folder
from patchwork_env.games import NMBR9
from patchwork_env.nmbr9 import Game, engine
from tests.agents.nmbr9.tables import played

EVALUATIONS = 3000


@pytest.fixture(scope="module")
def weights():
    weights = new_weights(3)
    weights["weights_3"] *= 30
    return weights


def agents_of(weights):
    return ValueAgent(weights), ChampionAgent(weights, evaluations=EVALUATIONS)


def chosen_alike(agent, *games):
    """Whether an agent chooses the same action in all of these games, with the same seed."""
    chosen = set()
    for game in games:
        agent.reseed(7)
        chosen.add(agent.act(game))
    return len(chosen) == 1


def test_decks_of_rollouts_are_permutations_of_the_rest(weights):
    """In each series of as many decks as cards, every card comes next once."""
    game, work, streams = played(12, seed=5), champion.new_workspace(), np.array([3], np.uint64)
    considered = champion.begin(game.state, 0, champion.SETTINGS._replace(candidates=2), weights, work)
    assert not work.sums.any()
    decks = []
    for _ in range(14):
        champion.roll_out(considered, champion.SETTINGS._replace(depth=1), weights, work, streams)
        decks.append(work.root["deck"][0, :20].tolist())
    assert len(set(map(tuple, decks))) > 12
    assert all(deck[:13] == list(game.deck[:13]) for deck in decks)
    assert all(sorted(deck) == sorted(game.deck) for deck in decks)
    for row in (decks[:7], decks[7:]):
        assert sorted(deck[13] for deck in row) == sorted(game.deck[13:])


def test_other_players_tables_and_a_known_order_are_ignored(weights):
    alone, both = played(7, seed=6), Game(seed=6, players=2)
    while both.round < 7:
        sensible = both.current_player == 1
        both.play(choose_action(both.state, 0) if sensible else both.legal_actions()[0])
    both.play(both.legal_actions()[0])
    assert both.placements(1) == alone.placements(0)
    known = played(7, seed=6, order="known")
    assert all(chosen_alike(agent, alone, both, known) for agent in agents_of(weights))


def test_the_last_tile_goes_where_it_brings_most(weights):
    game = played(19, seed=8)
    levels = [engine.level_of(game.state, 0, int(action)) for action in game.legal_actions()]
    for agent in agents_of(weights):
        assert engine.level_of(game.state, 0, agent.act(game)) == max(levels)
    assert agent.workspace().rollouts[0] == 0  # without a search
    (lines,) = ChampionAgent(weights).deepen(game)
    assert lines[0][1:] == (1, game.scores()[0] + game.digit * max(levels), True)
    assert [line.score for line in lines] == sorted((line.score for line in lines), reverse=True)


def test_search_is_stronger_than_its_value():
    """With a value of 0, it beats the agent that maximizes the points of each tile."""
    decks = [Game(seed=seed).deck for seed in range(3)]
    value, totals = aligned_records(WEIGHTS), [0, 0]
    for k, agent in enumerate((ValueAgent(value), ChampionAgent(value, evaluations=4000, seed=1))):
        for deck in decks:
            game = Game(deck=deck)
            while not game.is_over:
                game.play(agent.act(game))
            totals[k] += game.scores()[0]
    assert totals[1] > totals[0] + 10 * len(decks)


def test_keeping_the_best():
    work = champion.new_workspace()
    work.actions[:5], work.sums[:5] = [10, 11, 12, 13, 14], [1.0, 5.0, 3.0, 5.0, 2.0]
    champion.keep_best(5, 3, work)
    assert (*work.actions[:5], *work.sums[:5]) == (11, 13, 12, 10, 14, 5.0, 5.0, 3.0, 1.0, 2.0)


def test_the_better_half_of_the_candidates_is_kept(weights, monkeypatch):
    """Each step has an equal share of the budget; the clock advances by a second when it is read."""
    game, work, streams = played(8, seed=9), champion.new_workspace(), seed_streams(1)
    for counts in ([12, 12, 6, 3, 2], [8, 8, 4, 2], [1, 1]):
        settings = champion.SETTINGS._replace(candidates=counts[0])
        agent = ChampionAgent(weights, evaluations=2000, settings=settings)
        assert list(agent._search(game.state, 0, work, streams)) == counts
        twice = 2 * (len(counts) - 1)
        assert list(agent._search(game.state, 0, work, streams, results=twice))[::2] == counts
    agent = ChampionAgent(weights, evaluations=20_000)
    spent = [int(work.evaluations[0]) for _ in agent._search(game.state, 0, work, streams)]
    assert [round(number / 5000) for number in spent] == [0, 1, 2, 3, 4]
    agent, read = ChampionAgent(weights, seconds=40.0), iter(range(999)).__next__

    def slow_at_first(kernel):
        to_compile = iter(range(40))  # seconds
        return lambda *given: ([read() for _ in to_compile], kernel(*given))[1]

    monkeypatch.setattr(champion, "perf_counter", read)
    for name in ("begin", "roll_out", "keep_best"):
        monkeypatch.setattr(champion, name, slow_at_first(getattr(champion, name)))
    rollouts = [int(work.rollouts[0]) for _ in agent._search(game.state, 0, work, streams, results=8)]
    assert rollouts == [*range(0, 41, 5)]


@pytest.fixture(scope="module")
def checkpoint(weights, tmp_path_factory):
    path = tmp_path_factory.mktemp("values") / "mine"
    write_folder(path, lambda folder: write_weights(folder, NMBR9, weights))
    return path


def test_specs(checkpoint):
    assert all(isinstance(agents.load(f"{checkpoint}{level}"), ValueAgent) for level in ("", ":instant"))
    game = played(16, seed=1)
    for spec in (f"{checkpoint}:nodes=500", f"{checkpoint}:seconds=0.02", f"{checkpoint}:fast"):
        agent = agents.load(spec, seed=2)
        assert isinstance(agent, ChampionAgent)
        assert agent.act(game) in game.legal_actions()
    assert next(iter(LEVELS)) == "instant"


def test_wrong_budgets_and_digits_to_be_chosen_are_refused(checkpoint):
    with pytest.raises(ValueError, match=r"the budgets are level=fast and seconds=1\.0; give one"):
        agents.load(f"{checkpoint}:level=fast,seconds=1")
    with pytest.raises(ValueError, match=r"option 'level' of agent .* is 'slow'; it must be one of"):
        agents.load(f"{checkpoint}:level=slow")
    with pytest.raises(ValueError, match="does not choose digits"):
        agents.load("nmbr9_champion:nodes=2000").deepen(Game(order="free"))


def test_analyses_are_reproducible_and_change_nothing():
    game = played(5, seed=7, players=2)
    champion, alone = (agents.load("nmbr9_champion:nodes=2000", seed=1) for _ in range(2))
    first = list(champion.deepen(game))
    assert list(champion.deepen(game)) == first
    assert champion.act(game) == alone.act(game)
    then: dict[tuple[int, int], float] = {}
    for lines in first:  # a placement that is dropped keeps its difference to the first one
        assert len({line.score for line in lines}) > 1
        assert lines[0].score == pytest.approx(champion.expected_scores(game)[game.current_player], abs=20)
        assert lines[1:] == sorted(lines[1:], key=lambda line: -line.score)
        assert lines[0].score == max(line.score for line in lines if line.visits == lines[0].visits)
        for line in lines:
            score = then.setdefault((line.action, line.visits), line.score)
            assert line.score - lines[0].score == pytest.approx(score - then[lines[0].action, line.visits])
    assert list(agents.load("nmbr9_champion:seconds=0.02").deepen(game))


def test_expected_scores_at_the_end_are_exact():
    game, champion = played(5, seed=7, players=3), agents.load("nmbr9_champion:instant")
    expected = agents.load("nmbr9_champion:nodes=2000").expected_scores(game)
    assert len(expected) == 3
    while not game.is_over:
        game.play(champion.act(game))
    final = agents.load("nmbr9_champion:nodes=2000").expected_scores(game)
    assert final == list(game.scores())
    assert expected == pytest.approx(final, abs=30)

"""The agent ``beam``: it plays its plans, and the plans are good."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.agents.checkpoints import SHIPPED_FOLDER, read_checkpoint
from patchwork_env.agents.nmbr9 import beam
from patchwork_env.agents.nmbr9.beam import as_solo_game, plan, search
from patchwork_env.agents.nmbr9.value import read_value
from patchwork_env.nmbr9 import Game

pytestmark = pytest.mark.bounds

SMALL_FREE = {"order": "free", "max_digit": 5, "deck_size": 7}


@pytest.fixture(scope="module")
def weights():
    return read_value(read_checkpoint(SHIPPED_FOLDER / "nmbr9_champion"))


def play(game, agent):
    while not game.is_over:
        game.play(agent.act(game))
    return game.scores()


@pytest.fixture
def made(monkeypatch):
    """All plans, with their widths, times and seeds."""
    made = list[Any]()
    monkeypatch.setattr(beam, "plan", lambda *given: made.append((plan(*given), *given[3:])) or made[-1][0])
    return made


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("settings", [{"order": "known", "deck_size": 9}, SMALL_FREE], ids=str)
def test_plans_are_played(settings, seed, made):
    scores = play(Game(seed=4, players=2, **settings), agents.load("beam:width=20", seed=seed))
    ((found, *budget),) = made
    assert [*scores, *budget] == [found.score, found.score, 20, None, seed or 0]


@pytest.mark.parametrize("settings", [{"order": "known", "deck_size": 8}, SMALL_FREE], ids=str)
def test_a_deviation_leads_to_a_new_plan(settings):
    """Also after a digit was chosen."""
    game, agent = Game(seed=4, **settings), agents.load("beam:width=10")
    while not game.is_over:
        planned = agent.act(game)
        others = [action for action in game.legal_actions() if action != planned]
        game.play(others[0] if others and game.num_moves < 3 else planned)


def test_decks_of_a_batch_keep_their_plans_until_others_are_used_more(made, monkeypatch):
    games = [Game(seed=seed, order="known", deck_size=6) for seed in range(4)]
    monkeypatch.setattr(beam, "MOST_PLANS", 4)
    agent, starts = agents.load("beam:width=5"), [game.clone() for game in games]
    while not games[0].is_over:
        actions = agent.act_batch(np.concatenate([game.state for game in games]))
        for game, action in zip(games, actions, strict=True):
            game.play(action)
    assert len(made) == 4
    other = Game(seed=9, order="known", deck_size=6)  # takes the place of the second, which is used least
    for game, plans in zip((starts[0], other, starts[2], other, starts[1]), (4, 5, 5, 5, 6), strict=True):
        agent.act(game)
        assert len(made) == plans


def test_looking_ahead_is_worth_many_points(weights):
    def mean(width):
        roots = [Game(seed=seed, order="known").state for seed in range(3)]
        return float(np.mean([search(root, width, weights, free_from=20).score for root in roots]))

    assert mean(100) > mean(1) + 15 > 90


def test_noise_and_seed_make_other_plans_and_the_same_ones_again(weights):
    root = Game(seed=8, order="known").state
    found = [search(root, 5, weights, free_from=20, noise=8.0, seed=seed) for seed in (1, 2, 1)]
    assert found[0] == found[2] != found[1]
    assert min(found).score > 40  # not random


@pytest.mark.parametrize(
    ("seconds", "widths"),
    [(0.5, [16]), (100, [16, 256, 796, 319, 127, 51, 21]), (3e5, [16, 256, 4096, 65536, 999_999, 999_999])],
)
def test_searches_fill_the_time(seconds, widths, weights, monkeypatch):
    """A search of 16 tables takes a second; each one gets six tenths of the time left, or widens most."""
    root, now, made = as_solo_game(Game(seed=2, **SMALL_FREE).state), [7.0], []
    to_compile = iter([50])  # seconds

    def timed(root, width, weights, free_from, noise=0.0, seed=0):
        now[0] += width / 16 + next(to_compile, 0)
        made.append((width, [noise, seed], search(root, 2, weights, free_from, noise, seed)))
        return made[-1][-1]

    monkeypatch.setattr(beam, "search", timed)
    monkeypatch.setattr(beam, "perf_counter", lambda: now[0])
    best = plan(root, 0, weights, 4, seconds, seed=2**64 - 1)
    assert made.pop(0)[0] == 1  # before the time begins
    assert best is max((found for *_, found in made), key=lambda found: found.score)
    assert [width for width, _, _ in made][: len(widths)] == widths
    assert [given for _, given, _ in made] == [[4.0 * (k > 0), (k - 1) % 2**64] for k in range(len(made))]


def test_unknown_decks_are_refused():
    with pytest.raises(ValueError, match="'known' or 'free'; 'nmbr9_champion' plays unknown decks"):
        agents.load("beam").act(Game(seed=1))
    assert "beam" not in agents.names("nmbr9")
    with pytest.raises(ValueError, match="agent 'beam' plays nmbr9, not patchwork"):
        agents.as_agent("beam", game="patchwork")


def test_wrong_options_are_refused():
    for options, message in (
        ("width=0", "option 'width' of agent 'beam' is '0'; it must be an integer of 1 to 999999"),
        ("seconds=0", "option 'seconds' of agent 'beam' is '0'; it must be a number above 0"),
        ("width=3,seconds=1", r"the budgets are width=3 and seconds=1\.0; give one of them"),
    ):
        with pytest.raises(ValueError, match=message):
            agents.load(f"beam:{options}")


def test_a_pool_keeps_the_best_without_duplicates():
    pools, rng = beam.new_pools(2, 5), np.random.default_rng(2)
    kept: dict[int, int] = {}
    offers = [(int(k), float(value)) for k, value in zip(rng.permutation(60), rng.random(60), strict=True)]
    for key, value in offers + offers[:20]:
        slot = beam.admit(pools, 1, np.uint64(key), value)
        if slot >= 0:
            kept[slot] = key
    best = sorted(offers, key=lambda offer: -offer[1])[:5]
    assert set(kept.values()) == {key for key, _ in best}
    assert sorted(pools.values[1]) == sorted(value for _, value in best)
    assert pools.sizes.tolist() == [0, 5]

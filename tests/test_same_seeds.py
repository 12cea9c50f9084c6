"""What seeds give, pinned: games, environments and agents do today what they did when it was recorded.

``same_seeds.json`` holds a SHA-256 digest for every part of every area, such as the masks of the games of
Patchwork. Nothing but a change of the rules, of the random numbers or of what an agent plays may change them.
After such a change, made on purpose, record them anew, which prints the parts that have changed:

    python -m tests.test_same_seeds --record

Budgets are numbers of simulations, nodes or plans, never time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
import torch

from patchwork_env import agents, nmbr9, nmbr9_v0, patchwork, patchwork_v0
from patchwork_env.agents.checkpoints import copy_checkpoint
from patchwork_env.nmbr9_v0 import SelfPlayBatch as Nmbr9SelfPlay
from patchwork_env.patchwork_v0 import SelfPlayBatch as PatchworkSelfPlay
from tests.patchwork.recorded import GAMES

FILE = Path(__file__).with_name("same_seeds.json")
STRIDE = 7919
"""A prime, so that actions chosen by multiples of it come from all over the legal ones."""
SLOW = ("patchwork_agent spec=partner:level=2", "patchwork_agent spec=partner:level=4")
SMALL_DECK = {"max_digit": 5, "copies": 3, "deck_size": 7}


# --- digests ------------------------------------------------------------------------------------------------


class Trace:
    """Digests of what was seen, one for each part."""

    def __init__(self):
        self._parts: defaultdict[str, Any] = defaultdict(hashlib.sha256)

    def add(self, **seen):
        """Adds what was seen to the parts with these names."""
        for part, value in seen.items():
            feed(self._parts[part], value)

    def digests(self):
        return {part: self._parts[part].hexdigest() for part in sorted(self._parts)}


def feed(digest, value):
    """Adds a value of any type to a digest, with its type and shape."""
    if isinstance(value, Mapping):
        digest.update(b"{%d" % len(value))
        for key in sorted(value):
            feed(digest, key)
            feed(digest, value[key])
    elif isinstance(value, np.ndarray) and value.dtype.names:
        feed(digest, {name: value[name] for name in value.dtype.names})
    elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        digest.update(b"[%d" % len(value))
        for item in value:
            feed(digest, item)
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode() + value.tobytes())
    else:
        digest.update(f"{value.item() if isinstance(value, np.generic) else value!r};".encode())


Area = Callable[[], Trace]
AREAS: dict[str, Area] = {}
"""By name: what follows the area and returns what it saw."""


def area(*variants):
    """Makes an area of a function that adds to a trace, or several, one for each set of arguments."""

    def register(follow):
        for variant in variants or ({},):
            arguments = [f"{key}={value}" for key, value in variant.items()]
            AREAS[" ".join([follow.__name__, *arguments])] = partial(_followed, follow, variant)
        return follow

    return register


def _followed(follow, variant):
    trace = Trace()
    follow(trace, **variant)
    return trace


# --- choosing actions by a fixed rule -----------------------------------------------------------------------


def pick(legal, k):
    """The action of move ``k`` by a rule that nothing random is in."""
    return int(legal[k * STRIDE % len(legal)])


def pick_by_mask(mask, k):
    return pick(np.flatnonzero(mask), k)


# --- games --------------------------------------------------------------------------------------------------


def follow_game(trace, game, choose):
    """Plays a game to its end, and sees it from all sides before every move."""
    while True:
        trace.add(
            legal=game.legal_actions(),
            masks=game.action_mask(),
            observations=[game.observation(player) for player in range(game.num_players)],
            states=game.to_bytes(),
        )
        if game.is_over:
            break
        action = choose(game, game.num_moves)
        move = (game.current_player, action, tuple(game.decode(action)), game.move_text(action))
        trace.add(moves=move, results=game.scores())
        game.play(action)
    winner = game.winner() if isinstance(game, patchwork.Game) else game.winners()
    trace.add(moves=(game.history, game.notation()), results=(game.scores(), winner))


def by_rule(game, k):
    return pick(game.legal_actions(), k)


def by_greedy(game, k):
    """What ``greedy`` plays: games by the rule hardly ever get a bonus tile, or to a second level."""
    return agents.load("greedy").act(game)


@area(*({"special_patches": prints, "first_player": who} for prints in ("revised", "2014") for who in (0, 1)))
def patchwork_games(trace, **options):
    """Games that the rule and ``greedy`` play."""
    for seed in (*range(10), 2**64 - 1):
        for choose in (by_rule, by_greedy):
            game = patchwork.Game(seed=seed, **options)
            trace.add(deals=(game.circle, game.special_spaces, game.current_player))
            follow_game(trace, game, choose)


@area()
def patchwork_rare_games(trace):
    """Games with bonus tiles and full quilts."""
    for beginning in GAMES:
        game = patchwork.Game(circle=beginning.circle)
        moves = dict(enumerate(beginning.actions))
        follow_game(trace, game, lambda game, k, moves=moves: moves[k] if k in moves else by_rule(game, k))


@area({"order": "unknown"}, {"order": "known"}, {"order": "free"})
def nmbr9_games(trace, order):
    """Games of any number of players, with the whole deck and with a smaller one."""
    for seed, deck in enumerate(({}, SMALL_DECK, {})):
        for players in (1, 2, 3, 4):
            for choose in (by_rule, by_greedy):
                game = nmbr9.Game(seed=seed, players=players, order=order, **deck)
                trace.add(deals=(game.deck, [game.determinize(k).deck for k in range(3)], game.remaining()))
                follow_game(trace, game, choose)


# --- PettingZoo ---------------------------------------------------------------------------------------------


def follow_agents(trace, env, seed):
    """Plays two games with one seed, and sees them with the eyes of all agents before every move."""
    for begin in (seed, None):
        env.reset(seed=begin)
        see_agents(trace, env)
        k = 0
        while env.agents:
            seen, reward, terminated, truncated, info = env.last()
            over = terminated or truncated
            trace.add(rewards=(reward, terminated, truncated, info))
            env.step(None if over else pick_by_mask(seen["action_mask"], k))
            see_agents(trace, env)
            k += 1


def see_agents(trace, env):
    seen = [env.observe(agent) for agent in env.possible_agents]
    trace.add(
        turns=(env.agents, env.agent_selection),
        observations=[view["observation"] for view in seen],
        masks=[view["action_mask"] for view in seen],
        rewards=(env.rewards, env.terminations, env.truncations, env.infos),
        states=(env.state(), env.unwrapped.game.to_bytes()),
    )


@area(
    {"rewards": "outcome", "observation": "flat", "special_patches": "revised", "first_player": 0},
    {"rewards": "margin", "observation": "dict", "special_patches": "2014", "first_player": 1},
    {"rewards": "margin", "observation": "flat", "special_patches": "revised", "first_player": "random"},
    {"rewards": "outcome", "observation": "dict", "special_patches": "2014", "first_player": "random"},
)
def patchwork_aec_env(trace, **options):
    for seed in (3, 4):
        follow_agents(trace, patchwork_v0.raw_env(**options), seed)


@area(
    {"rewards": "score", "observation": "dict", "order": "unknown"},
    {"rewards": "outcome", "observation": "flat", "order": "unknown"},
    {"rewards": "outcome", "observation": "dict", "order": "known"},
    {"rewards": "score", "observation": "flat", "order": "free"},
)
def nmbr9_aec_env(trace, **options):
    for players in (1, 2, 3, 4) if options["rewards"] == "score" else (2, 4):
        deck = SMALL_DECK if players == 4 else {}
        follow_agents(trace, nmbr9_v0.raw_env(players=players, **options, **deck), players)


@area({"order": "unknown"}, {"order": "free"})
def nmbr9_parallel_env(trace, **options):
    """Games in which all act at once."""
    env = nmbr9_v0.parallel_env(players=3, rewards="score", **options)
    for seed in (3, None):
        observations, infos = env.reset(seed=seed)
        trace.add(observations=observations, rewards=infos)
        k = 0
        while env.agents:
            masks = [observations[agent]["action_mask"] for agent in env.agents]
            actions = [pick_by_mask(mask, k + i) for i, mask in enumerate(masks)]
            chosen = dict(zip(env.agents, actions, strict=True))
            observations, *others = env.step(chosen)
            trace.add(observations=observations, rewards=others)
            k += 1


@area({"name": "patchwork/patchwork_v0"}, {"name": "nmbr9/nmbr9_v0"})
def wrapped_aec_env(trace, name):
    """A game on the environment with its wrappers that an illegal action ends."""
    env = pettingzoo.make("aec", name, **({"players": 2} if "nmbr9" in name else {}))
    env.reset(seed=5)
    for k in range(8):
        see_agents(trace, env)
        env.step(pick_by_mask(env.last()[0]["action_mask"], k))
    env.step(pick_by_mask(1 - env.last()[0]["action_mask"], 1))
    see_agents(trace, env)


# --- Gymnasium ----------------------------------------------------------------------------------------------


def as_recorded(name, infos):
    """Infos under the names of the record, where games of one player had no seat and a single score."""
    if "Nmbr9" not in name:
        return infos
    found = {key: value for key, value in infos.items() if key.strip("_") not in ("seat", "scores")}
    if "final_info" in found:
        found["final_info"] = as_recorded(name, found["final_info"])
    if "scores" in infos:
        of_batch = "_scores" in infos
        found["score"] = infos["scores"][:, 0].astype(np.int64) if of_batch else int(infos["scores"][0])
        found |= {"_score": infos["_scores"]} if of_batch else {}
    return found


def follow_learner(trace, name, seed, **options):
    """Plays two games with one seed, and a third that an illegal action ends."""
    env = gymnasium.make(name, **options)
    for begin, last in ((seed, None), (None, None), (None, 5)):
        observation, info = env.reset(seed=begin)
        trace.add(observations=observation, infos=as_recorded(name, info))
        k, over = 0, False
        while not over:
            mask = info["action_mask"] if k != last else 1 - info["action_mask"]
            observation, reward, terminated, truncated, info = env.step(pick_by_mask(mask, k))
            over = terminated or truncated
            trace.add(
                observations=observation,
                rewards=(reward, terminated, truncated),
                infos=as_recorded(name, info),
                states=env.unwrapped.game.to_bytes(),
            )
            k += 1
    env.close()


def follow_batch(trace, name, steps, **options):
    """Plays some games at once, of which one is ended by an illegal action now and then."""
    envs = gymnasium.make_vec(name, num_envs=5, vectorization_mode="vector_entry_point", **options)
    for seed in (7, [2**64 - 1, None, 3, 4, 5]):
        observations, infos = envs.reset(seed=seed)
        trace.add(observations=observations, infos=as_recorded(name, infos))
        for k in range(steps):
            masks = infos["action_mask"]
            if k % 17 == 16:
                masks[2] = 1 - masks[2]
            actions = [pick_by_mask(mask, k + game) for game, mask in enumerate(masks)]
            observations, *rewards, infos = envs.step(actions)
            trace.add(
                observations=observations,
                rewards=rewards,
                infos=as_recorded(name, infos),
                states=[game.to_bytes() for game in envs.unwrapped.games()],
            )
    envs.close()


PATCHWORK_OPTIONS = (
    {},
    {"seat": "random", "rewards": "margin", "observation": "dict"},
    {"seat": 1, "rewards": "margin", "special_patches": "2014", "first_player": "random"},
)
NMBR9_OPTIONS = (
    {"order": "unknown", "observation": "flat"},
    {"order": "known", "observation": "dict"},
    {"order": "free", "observation": "flat", **SMALL_DECK},
)


@area({"opponent": "random"}, {"opponent": "greedy"})
def patchwork_gym_env(trace, opponent):
    for seed, options in enumerate(PATCHWORK_OPTIONS, 3):
        follow_learner(trace, "patchwork_env:Patchwork-v0", seed, opponent=opponent, **options)


@area({"opponent": "random"}, {"opponent": "greedy"})
def patchwork_vector_env(trace, opponent):
    for options in PATCHWORK_OPTIONS:
        follow_batch(trace, "patchwork_env:Patchwork-v0", 60, opponent=opponent, **options)


@area()
def nmbr9_gym_env(trace):
    for seed, options in enumerate(NMBR9_OPTIONS, 3):
        follow_learner(trace, "patchwork_env:Nmbr9-v0", seed, **options)


@area()
def nmbr9_vector_env(trace):
    for options in NMBR9_OPTIONS:
        follow_batch(trace, "patchwork_env:Nmbr9-v0", 45, **options)


# --- batched self-play --------------------------------------------------------------------------------------


def follow_self_play(trace, env, results):
    """Plays random actions, goes back to the middle, and starts anew."""
    for k in range(200):
        see_batch(trace, env, results)
        if k == 120:
            saved = env.save()
        env.step(env.random_actions)
    trace.add(saved=saved)
    env.restore(saved)
    for _ in range(20):
        trace.add(restored=(env.states, env.random_actions))
        env.step(env.random_actions)
    env.reset(seed=2**64 - 1)
    see_batch(trace, env, results)


RESULTS: dict[str, Callable[[Any], Any]] = {
    "winners": lambda env: np.where(env.terminations, env.rewards.argmax(axis=1), -1).astype(np.int8),
    "gains": lambda env: env.rewards.sum(axis=1).astype(np.int16),
    "endings": lambda env: env.terminations.astype(np.int8),
    "final scores": lambda env: env.final_scores,
}
"""What games that ended and moves of the last step have brought, as it was recorded."""


def see_batch(trace, env, results):
    trace.add(
        states=env.states,
        masks=env.masks,
        observations=env.observations,
        actions=(env.current_players, env.counts, env.random_actions),
        results=[RESULTS[result](env) for result in results],
    )


@area({})
def patchwork_self_play(trace):
    """Batches of both prints."""
    for prints, first_player in (("revised", "random"), ("2014", 1)):
        env = PatchworkSelfPlay(70, seed=11, special_patches=prints, first_player=first_player)
        follow_self_play(trace, env, ("winners", "final scores"))


@area(
    {"order": "unknown", "players": 1},
    {"order": "known", "players": 2, **SMALL_DECK},
    {"order": "free", "players": 3},
    {"order": "unknown", "players": 4, "deck": (3, 1, 4, 1, 5, 9, 2, 6)},
)
def nmbr9_self_play(trace, **options):
    env = Nmbr9SelfPlay(8, seed=11, rewards="score", **options)
    follow_self_play(trace, env, ("gains", "endings", "final scores"))


# --- agents -------------------------------------------------------------------------------------------------


def follow_agent(trace, spec, games, states=None):
    """Has an agent play both sides of games, and choose for a batch of states."""
    agent = agents.load(spec, seed=17)
    for game in games:
        while not game.is_over:
            game.play(agent.act(game))
        trace.add(games=(game.history, game.notation(), game.scores()))
    agent.reseed(18)
    if states is not None:
        trace.add(batches=agent.act_batch(states))


def states_of(make, **options):
    """A batch of thirty positions: after no move by the rule, after one, and so on."""
    states = []
    for moves in range(30):
        game = make(seed=moves, **options)
        for k in range(moves):
            game.play(by_rule(game, k))
        states.append(game.state.copy())
    return np.concatenate(states)


@area(
    {"spec": "random"},
    {"spec": "greedy"},
    {"spec": "mcts:simulations=100"},
    {"spec": "champion:instant"},
    {"spec": "champion:nodes=60"},
    {"spec": "champion:nodes=20,aim=rich"},
    {"spec": "champion:nodes=20,aim=margin"},
    {"spec": "champion:nodes=20,aim=score"},
    {"spec": "partner:level=1"},
    {"spec": "partner:level=2"},
    {"spec": "partner:level=4"},
)
def patchwork_agent(trace, spec):
    games = [patchwork.Game(seed=1), patchwork.Game(seed=2, special_patches="2014", first_player=1)]
    follow_agent(trace, spec, games, states_of(patchwork.Game))


@area(
    {"spec": "random"},
    {"spec": "greedy"},
    {"spec": "nmbr9_champion:nodes=1500"},
    {"spec": "partner:level=1"},
    {"spec": "partner:level=2"},
)
def nmbr9_agent(trace, spec):
    """What an agent plays, alone, with others, in free order and in a batch."""
    games = [nmbr9.Game(seed=1), nmbr9.Game(seed=2, players=3), nmbr9.Game(seed=3, order="known")]
    if not spec.startswith("nmbr9_champion"):
        games.append(nmbr9.Game(seed=4, order="free", **SMALL_DECK))
    follow_agent(trace, spec, games, states_of(nmbr9.Game, players=2))


@area({"order": "known"}, {"order": "free"})
def beam(trace, order):
    """Plans of a whole deck in its order, and of a small one in any."""
    deck = SMALL_DECK if order == "free" else {}
    follow_agent(trace, "beam:width=10", [nmbr9.Game(seed=1, order=order, **deck)])


@area({"name": "champion"}, {"name": "nmbr9_champion"})
def learned_value(trace, name):
    """What a value that comes with the package plays by itself: it does not search at a path of its own."""
    make = patchwork.Game if name == "champion" else nmbr9.Game
    players = {} if name == "champion" else {"players": 2}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "value")
        copy.mkdir()
        copy_checkpoint(agents.path_of(name), copy)
        follow_agent(trace, str(copy), [make(seed=1), make(seed=2, **players)], states_of(make, **players))


@area({"spec": "ppo-quick-v1"}, {"spec": "ppo-quick-v1:simulations=8"})
def policy_network(trace, spec):
    """The likeliest actions of a policy, and those of a plan with it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        follow_agent(trace, spec, [], states_of(patchwork.Game))
    finally:
        torch.set_num_threads(threads)


@area()
def analysis(trace):
    """What the champion says of all positions of a game that it plays."""
    game = patchwork.Game(seed=1)
    while not game.is_over:
        analysis = agents.analyse(game, "champion:nodes=20")
        trace.add(texts=analysis.text(rows=None))
        game.play(analysis.best.action)


# --- the test and the record --------------------------------------------------------------------------------


def recorded():
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def changed_parts(before, now):
    """The parts that are new, gone or other than before."""
    return sorted(part for part in before.keys() | now.keys() if before.get(part) != now.get(part))


def record():
    """Writes the digests of all areas, and prints which have changed."""
    before, now = recorded(), {name: follow().digests() for name, follow in AREAS.items()}
    for name, digests in now.items():
        print(f"{name}: {', '.join(changed_parts(before.get(name, {}), digests)) or 'as before'}")
    FILE.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in AREAS]
)
def test_seeds_give_what_they_gave(name):
    changed = changed_parts(recorded().get(name, {}), AREAS[name]().digests())
    assert not changed, f"{name}: seeds give other {', '.join(changed)} than on record"


def test_all_areas_are_on_record():
    assert list(recorded()) == list(AREAS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Records what seeds give; see the beginning of this file.")
    parser.add_argument("--record", action="store_true", required=True)
    parser.parse_args()
    record()

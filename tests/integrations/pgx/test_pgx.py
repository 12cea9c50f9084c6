"""The games as Pgx environments: Pgx's own test, and equality with the game objects."""

import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("pgx")
pytestmark = pytest.mark.jax

import jax.numpy as jnp  # noqa: E402
import pgx  # noqa: E402
from pgx._src import api_test  # noqa: E402

from patchwork_env import nmbr9  # noqa: E402
from patchwork_env.integrations.pgx import Nmbr9, Patchwork  # noqa: E402

KINDS = {
    "patchwork": Patchwork(),
    "patchwork 2014": Patchwork(special_patches="2014", first_player="random", rewards="margin"),
    "patchwork score": Patchwork(rewards="score"),
    "nmbr9": Nmbr9(),
    "nmbr9 of 2": Nmbr9(players=2),
    "nmbr9 of 3": Nmbr9(players=3, rewards="margin"),
    "nmbr9 of 4": Nmbr9(players=4, rewards="score", max_digit=4),
    "nmbr9 known": Nmbr9(order="known", players=2),
    "nmbr9 free": Nmbr9(order="free"),
}
GAMES = 112  # of each kind: 1,008 in all
OF_EACH = pytest.mark.parametrize("env", [pytest.param(env, id=name) for name, env in KINDS.items()])


def batch(env, n, seed=0):
    return jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(seed), n))


def random_actions(state, rng):
    mask = np.asarray(state.legal_action_mask)
    return (mask * rng.random(mask.shape, np.float32)).argmax(-1)


def histories(env, n, seed=0):
    """Return all states of random games, and the actions between them ``(steps, n)``."""
    state, rng = batch(env, n, seed), np.random.default_rng(seed)
    step = jax.jit(jax.vmap(env.step))
    states, actions = [state], []
    while not state.terminated.all():
        actions.append(random_actions(state, rng))
        keys = jax.random.split(jax.random.key(rng.integers(1 << 30)), n)
        state = step(state, jnp.asarray(actions[-1]), keys)
        states.append(state)
    return states, np.array(actions)


def same_states(one, other):
    return all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))


@pytest.mark.parametrize(("env", "games"), [(Patchwork(), 4), (Nmbr9(), 3), (Nmbr9(players=3), 2)])
def test_the_conformance_test_of_pgx(env, games, monkeypatch):
    """Its list of ids is closed, and ``act_randomly`` fails for Pgx's own games with JAX 0.10."""

    def act_randomly(key, mask):
        return jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf), axis=-1)

    monkeypatch.setattr(api_test, "get_args", lambda _: (env.id,))
    monkeypatch.setattr(api_test, "act_randomly", jax.jit(act_randomly))
    pgx.api_test(env, games)


@OF_EACH
def test_games_are_those_of_our_own_class(env):
    """Masks and observations to the bit, rewards, players and ends."""
    states, actions = histories(env, GAMES)
    last = states[-1].games()
    for i, game in enumerate(map(partial(twin_of, env, states), range(GAMES), last)):
        rewards, first = np.zeros(env.num_players), game.scores()
        for before, after, action in zip(states, states[1:], actions[:, i], strict=True):
            assert not before.terminated[i]
            assert np.array_equal(game.action_mask(), before.legal_action_mask[i].astype(np.int8))
            assert np.array_equal(game.observation(), before.observation[i])
            assert game.current_player == before.current_player[i]
            game.play(action)
            rewards += np.asarray(after.rewards[i])
            if after.terminated[i]:
                break
        assert game.is_over
        assert game.scores() == last[i].scores()
        assert rewards.tolist() == pytest.approx(rewards_of(game, first, env), abs=1e-5)


def twin_of(env, states, i, last):
    """Return the game object of the same set-up; with a hidden deck, of the tiles that were drawn."""
    if env.id == "nmbr9" and env._draws:
        return nmbr9.Game(deck=last.state["deck"][0, : last.state["num_cards"][0]], players=env.num_players)
    first = type(last).rules.game.from_state(np.asarray(states[0]._record[i]).view(type(last).rules.dtype))
    assert not first.history
    return first


def rewards_of(game, first, env):
    """Return the sums of the rewards of a game, by the rules."""
    scores, n = game.scores(), env.num_players
    if env._kind == 2 or n == 1:  # the score
        return np.subtract(scores, first).tolist()
    if env._kind == 1:
        return [(scores[p] - max(s for q, s in enumerate(scores) if q != p)) / 100 for p in range(n)]
    winners = [game.winner()] if env.id == "patchwork" else game.winners()
    return [(n * (p in winners) / len(winners) - 1) / (n - 1) for p in range(n)]


def test_transformations_and_storage_change_nothing():
    env = Nmbr9(players=2)
    state = batch(env, 6)
    actions = jnp.asarray(random_actions(state, np.random.default_rng(0)))
    keys = jax.random.split(jax.random.key(1), 6)
    expected = jax.vmap(env.step)(state, actions, keys)
    assert same_states(jax.jit(jax.vmap(env.step))(state, actions, keys), expected)
    of_two = jax.tree.map(lambda array: array.reshape(2, 3, *array.shape[1:]), (state, actions, keys))
    nested = jax.jit(jax.vmap(jax.vmap(env.step)))(*of_two)
    assert same_states(jax.tree.map(lambda array: array.reshape(6, *array.shape[2:]), nested), expected)
    one = jax.tree.map(lambda array: array[4], (state, actions, keys))
    assert same_states(env.step(*one), jax.tree.map(lambda array: array[4], expected))
    stored = jax.tree.map(lambda array: jnp.asarray(np.asarray(array).copy()), state)
    assert same_states(jax.vmap(env.step)(stored, actions, keys), expected)
    assert same_states(jax.vmap(env.step)(state, actions, keys), expected)  # twice from one state


def test_whole_games_in_a_scan():
    env = Patchwork()

    def turn(state, _):
        state = env.step(state, state.legal_action_mask.argmax())
        return state, state.terminated

    final, over = jax.jit(lambda state: jax.lax.scan(turn, state, length=70))(env.init(jax.random.key(0)))
    assert over[-1]
    assert not over[0]
    assert final._step_count == (~over).sum() + 1


def test_sharded_batches_on_two_devices():
    code = """
import jax, numpy as np
from jax.sharding import PartitionSpec, Mesh
from patchwork_env.integrations.pgx import Patchwork
env = Patchwork()
step = jax.vmap(env.step)
state = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 8))
actions = state.legal_action_mask.argmax(-1)
mesh, games = Mesh(np.array(jax.devices()), ("games",)), PartitionSpec("games")
sharded = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(games, games), out_specs=games))(state, actions)
same = jax.tree.map(lambda a, b: bool((a == b).all()), sharded, step(state, actions))
assert len(jax.devices()) == 2 and all(jax.tree.leaves(same))
"""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | flags)


@pytest.mark.parametrize("action", [-3, 0, 2026, 1 << 30])
def test_illegal_actions_end_a_game(action):
    env = Patchwork(first_player=1)
    state = env.init(jax.random.key(0))
    state = state if action else env.step(state, state.legal_action_mask[1:].argmax() + 1)
    action = action or int((~state.legal_action_mask).argmax())
    after = env.step(state, action)
    loser = int(state.current_player)
    assert after.rewards[loser] == -1
    assert after.rewards[1 - loser] == 1
    assert after.terminated
    assert after.legal_action_mask.all()
    assert np.array_equal(after._record, state._record)
    again = env.step(after, 0)
    assert not again.rewards.any()
    assert same_states(again.replace(rewards=after.rewards), after)


def test_an_illegal_action_of_three_players_costs_what_pgx_says():
    env = Nmbr9(players=3)
    after = env.step(env.init(jax.random.key(0)), 0, jax.random.key(1))
    assert after.rewards.tolist() == [-1, 2, 2]


@pytest.mark.parametrize("players", [1, 3])
def test_no_state_holds_the_order_of_tiles_to_come(players):
    states, _ = histories(Nmbr9(players=players), 20)
    for state in states[:-1]:
        for record in (game.state[0] for game in state.games()):
            assert (
                np.diff(record["deck"][record["round"] + 1 :][: 19 - record["round"]].astype(int)) >= 0
            ).all()


def test_tiles_are_drawn_uniformly_from_those_that_are_left():
    env = Nmbr9(max_digit=2, copies=1)
    state = env.init(jax.random.key(3))
    first = state.games()[0].state["deck"][0, 0]
    keys = jax.random.split(jax.random.key(0), 600)
    after = jax.vmap(partial(env.step, state, state.legal_action_mask.argmax()))(keys)
    second = [game.state["deck"][0, 1] for game in after.games()]
    counts = np.bincount(second, minlength=3)
    assert counts[first] == 0
    assert sorted(counts)[1] > 250
    firsts = np.bincount([game.state["deck"][0, 0] for game in batch(env, 600).games()], minlength=3)
    assert firsts.min() > 150


def test_observe_shows_what_a_player_sees():
    states, _ = histories(Nmbr9(players=2), 2)
    state = jax.tree.map(lambda array: array[1], states[7])
    (game,) = state.games()
    with pytest.warns(DeprecationWarning, match="player_id"):
        seen = Nmbr9(players=2).observe(state, jnp.int32(0))
    assert np.array_equal(seen, game.observation(0))
    assert not np.array_equal(seen, state.observation)


def test_pictures(tmp_path):
    state = batch(Patchwork(), 3)
    one = jax.tree.map(lambda array: array[0], state)
    one.save_svg(tmp_path / "game.svg")
    assert (tmp_path / "game.svg").read_text().startswith("<svg")
    assert one.to_svg().count("<svg") == 2
    assert state.to_svg().count("<svg") == 4
    with pytest.raises(ValueError, match="must end with"):
        one.save_svg(tmp_path / "game.png")


def test_the_benchmark_prints_a_row_for_each_game(capsys, monkeypatch):
    from benchmarks import jax_speed

    monkeypatch.setattr("sys.argv", ["jax_speed.py", "--num-envs", "4", "--steps", "3"])
    monkeypatch.setattr(jax_speed, "GAMES", {"Patchwork": Patchwork})
    jax_speed.main()
    assert "| Patchwork | 4 |" in capsys.readouterr().out


def test_bad_options():
    with pytest.raises(ValueError, match="special_patches"):
        Patchwork(special_patches="2020")
    with pytest.raises(ValueError, match="rewards is 'outcome', which needs 2 players"):
        Nmbr9(rewards="outcome")
    with pytest.raises(ValueError, match="key is None"):
        Nmbr9().step(Nmbr9().init(jax.random.key(0)), 0)

"""Gumbel AlphaZero by self-play in JAX: environment by Pgx, search by mctx, network by Flax.

    pip install ".[train,pgx]" mctx flax optax
    python examples/mctx_alphazero.py --minutes 15 --out mctx.msgpack
    python examples/mctx_alphazero.py --load mctx.msgpack --minutes 0    # evaluates alone

Each iteration plays ``--turns`` turns of ``--envs`` games, searches every move, and learns from them:

- the policy learns the improved policy of the search (Danihelka et al. 2022, *Policy improvement by planning
  with Gumbel*);
- the value learns the result of the game as the player to move sees it.

Turns do not alternate in Patchwork: a player may move several times in a row. So the sign of a value changes
only where the next state belongs to the other player, in the search (``discount``) and in the targets.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import mctx
import numpy as np
import optax
from flax import serialization

from patchwork_env.integrations.pgx import Patchwork
from patchwork_env.learning.evaluation import play_matches
from patchwork_env.patchwork import Game

ENV = Patchwork(first_player="random", rewards="margin")
SCALE = 2.0  # margins are points / 100; a value of 1 is a win by 50 points


class Network(nn.Module):
    """Logits of all actions, and the expected margin of the player to move, in -1 ... 1."""

    num_actions: int
    width: int = 256

    @nn.compact
    def __call__(self, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Logits ``(n, actions)`` and values ``(n,)`` of observations ``(n, 307)``."""
        x = nn.relu(nn.Dense(self.width)(observation))
        for _ in range(2):
            x = x + nn.Dense(self.width)(nn.relu(nn.LayerNorm()(nn.Dense(self.width)(x))))
        logits = nn.Dense(self.num_actions, kernel_init=nn.initializers.zeros)(x)
        return logits, jnp.tanh(nn.Dense(1)(nn.relu(x))[..., 0])


NETWORK = Network(ENV.num_actions)


class Samples(NamedTuple):
    """Turns to learn from; of a rollout with the leading dimensions ``(turns, games)``."""

    observation: Any  # float32 (…, 307)
    mask: Any  # bool (…, 2026)
    policy: Any  # float32 (…, 2026), the improved policy of the search
    value: Any  # float32 (…,), the result of the game for the player to move
    known: Any  # bool (…,): whether the game ended within the rollout


def reward_and_discount(before: Any, after: Any) -> tuple[jax.Array, jax.Array]:
    """The mover's reward, and by what the next value counts for the mover, of batches of states ``(n,)``."""
    movers = before.current_player[:, None]
    reward = jnp.clip(jnp.take_along_axis(after.rewards, movers, 1)[:, 0] * SCALE, -1, 1)
    discount = jnp.where(after.current_player == before.current_player, 1.0, -1.0)
    return reward, jnp.where(after.terminated, 0.0, discount)


def masked(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """Logits in which no illegal action has a chance."""
    return jnp.where(mask, logits - logits.max(-1, keepdims=True), jnp.finfo(logits.dtype).min)


def recurrent(params: Any, key: jax.Array, action: jax.Array, state: Any) -> tuple[Any, Any]:
    """A step of the search: play an action in every game and evaluate what follows."""
    after = jax.vmap(ENV.step)(state, action)
    logits, value = NETWORK.apply(params, after.observation)
    reward, discount = reward_and_discount(state, after)
    logits = masked(logits, after.legal_action_mask)
    return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value), after


def search(params: Any, key: jax.Array, state: Any, simulations: int) -> Any:
    """A search for the next action of every game."""
    logits, value = NETWORK.apply(params, state.observation)
    logits = masked(logits, state.legal_action_mask)
    root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
    return mctx.gumbel_muzero_policy(
        params, key, root, recurrent, simulations, invalid_actions=~state.legal_action_mask
    )


@partial(jax.jit, static_argnums=(3, 4))
def collect(params: Any, key: jax.Array, state: Any, turns: int, simulations: int) -> tuple[Any, Samples]:
    """Play some turns of all games; games that end begin anew. Returns the last states and the samples."""

    def turn(state: Any, key: jax.Array) -> tuple[Any, Any]:
        searching, dealing = jax.random.split(key)
        found = search(params, searching, state, simulations)
        after = jax.vmap(ENV.step)(state, found.action)
        reward, discount = reward_and_discount(state, after)
        fresh = jax.vmap(ENV.init)(jax.random.split(dealing, len(reward)))
        begun = jax.tree.map(
            lambda new, old: jnp.where(after.terminated.reshape(-1, *[1] * (new.ndim - 1)), new, old),
            fresh,
            after,
        )
        samples = state.observation, state.legal_action_mask, found.action_weights
        return begun, (samples, reward, discount)

    state, (samples, rewards, discounts) = jax.lax.scan(turn, state, jax.random.split(key, turns))

    def back(following: Any, step: Any) -> tuple[Any, Any]:
        value, known = following
        reward, discount = step
        value, known = reward + discount * value, known | (discount == 0)
        return (value, known), (value, known)

    unknown = jnp.zeros_like(rewards[0]), jnp.zeros_like(rewards[0], bool)
    _, (values, known) = jax.lax.scan(back, unknown, (rewards, discounts), reverse=True)
    observation, mask, policy = samples
    return state, Samples(observation, mask, policy, values, known)


def loss_of(params: Any, samples: Samples) -> jax.Array:
    """Cross-entropy of the policy, and the squared error of the value where the result is known."""
    logits, value = NETWORK.apply(params, samples.observation)
    log_probabilities = jax.nn.log_softmax(masked(logits, samples.mask))
    policy_loss = -(samples.policy * jnp.where(samples.mask, log_probabilities, 0.0)).sum(-1).mean()
    errors = jnp.square(value - samples.value) * samples.known
    return policy_loss + errors.sum() / jnp.maximum(samples.known.sum(), 1)


def new_learner(optimizer: Any, batch: int) -> Callable[..., tuple[Any, Any, jax.Array]]:
    """A compiled function that learns once from all samples of a rollout, in random minibatches."""

    @jax.jit
    def learn(params: Any, moments: Any, key: jax.Array, rollout: Samples) -> tuple[Any, Any, jax.Array]:
        flat: Samples = jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:]), rollout)
        order = jax.random.permutation(key, len(flat.value)).reshape(-1, batch)

        def update(carry: Any, rows: jax.Array) -> tuple[Any, jax.Array]:
            params, moments = carry
            samples = jax.tree.map(lambda array: array[rows], flat)
            loss, gradient = jax.value_and_grad(loss_of)(params, samples)
            changes, moments = optimizer.update(gradient, moments, params)
            return (optax.apply_updates(params, changes), moments), loss

        (params, moments), losses = jax.lax.scan(update, (params, moments), order)
        return params, moments, losses.mean()

    return learn


def player(params: Any) -> Callable[[Game], int]:
    """The most probable action of a network, without a search."""
    logits_of = jax.jit(lambda observation: NETWORK.apply(params, observation)[0])

    def act(game: Game) -> int:
        logits = np.asarray(logits_of(game.observation()))
        return int(np.where(game.action_mask(), logits, -np.inf).argmax())

    return act


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains Patchwork by Gumbel AlphaZero in JAX.")
    parser.add_argument("--minutes", type=float, default=15, help="of training (default: %(default)s)")
    parser.add_argument("--envs", type=int, default=128, help="games at once (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=64, help="of a rollout (default: %(default)s)")
    parser.add_argument("--simulations", type=int, default=16, help="of a search (default: %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="(default: %(default)s)")
    parser.add_argument("--games", type=int, default=400, help="of each match (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    parser.add_argument("--load", type=Path, help="weights to start with")
    parser.add_argument("--out", type=Path, help="a file for the weights")
    options = parser.parse_args()

    key = jax.random.key(options.seed)
    state = jax.jit(jax.vmap(ENV.init))(jax.random.split(key, options.envs))
    params = NETWORK.init(key, state.observation)
    if options.load:
        params = serialization.from_bytes(params, options.load.read_bytes())
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(options.learning_rate))
    moments, learn = (
        optimizer.init(params),
        new_learner(optimizer, batch=min(1024, options.envs * options.turns)),
    )
    began, iteration = time.monotonic(), 0
    while time.monotonic() - began < 60 * options.minutes:
        key, collecting, shuffling = jax.random.split(key, 3)
        state, rollout = collect(params, collecting, state, options.turns, options.simulations)
        params, moments, loss = learn(params, moments, shuffling, rollout)
        iteration += 1
        minutes = (time.monotonic() - began) / 60
        print(f"iteration {iteration}, {minutes:.1f} minutes, loss {loss:.3f}", flush=True)
    if options.out:
        options.out.write_bytes(serialization.to_bytes(params))
    for opponent in ("random", "greedy"):
        print(play_matches(player(params), opponent, options.games).table())


if __name__ == "__main__":
    main()

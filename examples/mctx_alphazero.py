"""Gumbel AlphaZero by self-play in JAX: environment by Pgx, search by mctx, network by Flax.

    pip install ".[train,pgx]" mctx flax optax
    python examples/mctx_alphazero.py --minutes 15 --out mctx.msgpack
    python examples/mctx_alphazero.py --load mctx.msgpack --minutes 0    # evaluates alone

Each iteration plays ``--turns`` turns of ``--envs`` games, searches every move, and learns from them:

- the policy learns the improved policy of the search (Danihelka et al. 2022, *Policy improvement by planning
  with Gumbel*);
- the value learns the points that the player to move still gains, minus those of the opponent.

Two choices make it fast:

- A node of the search tree has ``CANDIDATES`` actions, sampled from the policy, instead of 2,026 (Hubert et
  al. 2021, *Learning and Planning in Complex Action Spaces*).
- The reward of a move is the points that it gains, so even the first searches find good moves.

Turns do not alternate in Patchwork: a player may move several times in a row. So the sign of a value changes
only where the next state belongs to the other player, in the search (``discount``) and in the targets.
"""

# Type checkers cannot follow the dataclasses of mctx, nor results of Flax.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false, reportReturnType=false

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

ENV = Patchwork(first_player="random", rewards="score")
POINTS = 20.0  # a value of 1 is 20 points
CANDIDATES = 16


class Network(nn.Module):
    """A logit for each action, and the expected future points of the player to move.

    The logit of a placement is the sum of one for its cell and one for its patch and orientation.
    """

    width: int = 256
    channels: int = 64

    @nn.compact
    def __call__(self, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return logits ``(n, 2026)`` and values ``(n,)`` for observations ``(n, 307)``."""
        kinds = 3 * 8 + 1  # patches in the offer times orientations, and the special patch
        to_zeros = partial(nn.Dense, kernel_init=nn.initializers.zeros)
        x = nn.relu(nn.Dense(self.width)(observation))
        x = nn.relu(x + nn.Dense(self.width)(nn.relu(nn.LayerNorm()(nn.Dense(self.width)(x)))))
        empty = 1 - observation[:, :81].reshape(-1, 9, 9, 1)
        cells = nn.relu(nn.Conv(self.channels, (5, 5))(empty) + nn.Dense(self.channels)(x)[:, None, None])
        of_cells = to_zeros(kinds)(cells).reshape(-1, 81, kinds).swapaxes(1, 2)
        advance, of_kinds = jnp.split(to_zeros(1 + kinds)(x), [1], axis=1)
        placements = (of_kinds[:, :, None] + of_cells).reshape(-1, kinds * 81)
        return jnp.concatenate([advance, placements], 1), nn.Dense(1)(x)[:, 0]


NETWORK = Network()


class Samples(NamedTuple):
    """Turns to learn from; in a rollout with the leading dimensions ``(turns, games)``."""

    observation: Any  # float32 (…, 307)
    mask: Any  # bool (…, 2026)
    candidates: Any  # int32 (…, CANDIDATES), actions
    policy: Any  # float32 (…, CANDIDATES), their probabilities after the search
    value: Any  # float32 (…,), the future points of the player to move


class Node(NamedTuple):
    """A state in the search tree and its candidates."""

    state: Any  # without observation and mask, to save memory
    candidates: Any  # int32 (n, CANDIDATES)


def reward_and_discount(before: Any, after: Any) -> tuple[jax.Array, jax.Array]:
    """Return the mover's rewards, and the mover's discounts of the next values, ``(n,)`` each."""
    movers = before.current_player[:, None]
    reward = jnp.take_along_axis(after.rewards, movers, 1)[:, 0] / POINTS
    discount = jnp.where(after.current_player == before.current_player, 1.0, -1.0)
    return reward, jnp.where(after.terminated, 0.0, discount)


def masked(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """Return logits in which illegal actions have no probability."""
    return jnp.where(mask, logits - logits.max(-1, keepdims=True), jnp.finfo(logits.dtype).min)


def expand(params: Any, key: jax.Array, state: Any) -> tuple[Node, jax.Array, jax.Array]:
    """Return the node of a state, its candidates' logits ``(n, CANDIDATES)``, and its value ``(n,)``."""
    logits, value = NETWORK.apply(params, state.observation)
    logits = masked(logits, state.legal_action_mask)
    _, candidates = jax.lax.top_k(logits + jax.random.gumbel(key, logits.shape), CANDIDATES)
    slim = state.replace(observation=None, legal_action_mask=None)
    return Node(slim, candidates), jnp.take_along_axis(logits, candidates, 1), value


def recurrent(params: Any, key: jax.Array, choice: jax.Array, node: Node) -> tuple[Any, Node]:
    """Play a candidate in every game, and evaluate the next states."""
    action = jnp.take_along_axis(node.candidates, choice[:, None], 1)[:, 0]
    after = jax.vmap(ENV.step)(node.state, action)
    following, logits, value = expand(params, key, after)
    reward, discount = reward_and_discount(node.state, after)
    return mctx.RecurrentFnOutput(
        reward=reward, discount=discount, prior_logits=logits, value=value
    ), following


def search(params: Any, key: jax.Array, state: Any, simulations: int) -> tuple[Any, Any, Any]:
    """Return actions ``(n,)``, and the candidates of the root with their improved probabilities."""
    sampling, searching = jax.random.split(key)
    node, logits, value = expand(params, sampling, state)
    found = mctx.gumbel_muzero_policy(
        params,
        searching,
        mctx.RootFnOutput(prior_logits=logits, value=value, embedding=node),
        recurrent,
        simulations,
        invalid_actions=~jnp.take_along_axis(state.legal_action_mask, node.candidates, 1),
    )
    action = jnp.take_along_axis(node.candidates, found.action[:, None], 1)[:, 0]
    return action, node.candidates, found.action_weights


@partial(jax.jit, static_argnums=(3, 4))
def collect(params: Any, key: jax.Array, state: Any, turns: int, simulations: int) -> tuple[Any, Samples]:
    """Play some turns of all games, with new games after ends; return the last states and the samples."""

    def turn(state: Any, key: jax.Array) -> tuple[Any, Any]:
        searching, dealing = jax.random.split(key)
        action, candidates, policy = search(params, searching, state, simulations)
        after = jax.vmap(ENV.step)(state, action)
        steps = reward_and_discount(state, after)
        fresh = jax.vmap(ENV.init)(jax.random.split(dealing, len(action)))
        over = after.terminated
        begun = jax.tree.map(
            lambda new, old: jnp.where(over.reshape(-1, *[1] * (new.ndim - 1)), new, old), fresh, after
        )
        return begun, ((state.observation, state.legal_action_mask, candidates, policy), steps)

    state, (samples, steps) = jax.lax.scan(turn, state, jax.random.split(key, turns))

    def back(following: Any, step: Any) -> tuple[Any, Any]:
        reward, discount = step
        value = reward + discount * following
        return value, value

    _, values = jax.lax.scan(back, NETWORK.apply(params, state.observation)[1], steps, reverse=True)
    observation, mask, candidates, policy = samples
    return state, Samples(observation, mask, candidates, policy, values)


def loss_of(params: Any, samples: Samples) -> jax.Array:
    """Return the cross-entropy of the policy plus the squared error of the value."""
    logits, value = NETWORK.apply(params, samples.observation)
    log_probabilities = jax.nn.log_softmax(masked(logits, samples.mask))
    chosen = jnp.take_along_axis(log_probabilities, samples.candidates, 1)
    policy_loss = -jnp.where(samples.policy > 0, samples.policy * chosen, 0.0).sum(-1).mean()
    return policy_loss + jnp.square(value - samples.value).mean()


def new_learner(optimizer: Any, batch: int) -> Callable[..., tuple[Any, Any, jax.Array]]:
    """Return a compiled function that learns from a rollout in random minibatches."""

    @jax.jit
    def learn(params: Any, moments: Any, key: jax.Array, rollout: Samples) -> tuple[Any, Any, jax.Array]:
        flat: Samples = jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:]), rollout)
        order = jax.random.permutation(key, len(flat.value))
        order = order[: len(order) // batch * batch].reshape(-1, batch)

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
    """Return the player of a network's most probable actions, without a search."""
    logits_of = jax.jit(lambda observation: NETWORK.apply(params, observation[None])[0][0])

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
    if options.games % 2:
        parser.error(f"--games is {options.games}; it must be even: each circle is played from both seats")

    key = jax.random.key(options.seed)
    state = jax.jit(jax.vmap(ENV.init))(jax.random.split(key, options.envs))
    params = NETWORK.init(key, state.observation)
    if options.load:
        params = serialization.from_bytes(params, options.load.read_bytes())
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(options.learning_rate))
    moments = optimizer.init(params)
    learn = new_learner(optimizer, batch=min(512, options.envs * options.turns))
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

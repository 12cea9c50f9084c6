"""Your own PPO in one file: it learns Patchwork by self-play, like ``algorithm: ppo``.

    pip install ".[train]"
    python examples/own_ppo.py --minutes 20 --threads 2 --out mine
    patchwork-env evaluate mine --against greedy --seed 1

The loop, the loss and the league are written out here; their parts come from
``patchwork_env.learning.toolbox``. ``docs/tutorials/own_ppo.md`` has a shorter one to begin with. With the
same settings, seed, steps and threads it learns the same weights as the project's own algorithm with
``ppo.precision=float32``, to the bit. ``network.trunk.dtype = torch.bfloat16`` makes it faster on processors
that multiply such numbers.
"""

from __future__ import annotations

import argparse
import math
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from patchwork_env.learning import toolbox
from patchwork_env.learning.toolbox import PolicyNetwork
from patchwork_env.patchwork_v0 import SelfPlayBatch

NETWORK = toolbox.NetworkConfig(width=256, depth=2, channels=0, offers=True, lookahead=True)
LOOKAHEAD_FROM, LOOKAHEAD_FACTOR = 0.6, 12.0
TURNS, EPOCHS, MINIBATCH = 64, 2, 1024
GAMMA, GAE_LAMBDA = 1.0, 0.95  # no discount: winning late is winning
CLIP, VALUE_COEFFICIENT, MAX_GRADIENT_NORM = 0.2, 0.5, 0.5
# Outcomes alone say little about most moves. The margin, clipped at 40 points, distinguishes a narrow
# defeat from a clear one, which helps beginners learn.
REWARD = toolbox.Reward(outcome=1.0, margin=1.0, margin_scale=40.0, margin_cut=1.0)
LEAGUE = toolbox.League(fraction=0.25, snapshot_every=20, size=40)
EVALUATE_EVERY = 100
SELF, NEW_GAME = -1, -2
"""Values in place of a past self's number: the learner itself, and no opponent yet."""
Array = np.ndarray
Batch = dict[str, Any]
"""The learner's decisions, concatenated: arrays ``(n,)`` by name."""


class SelfPlay:
    """Plays a batch of games, and keeps the opponents between rollouts."""

    def __init__(self, num_envs: int, seed: int, threads: toolbox.ThreadPool) -> None:
        # No masks and observations: the network encodes only the states that it evaluates. Masks of 2026
        # bytes for each of 512 games would be written every turn in vain.
        self.env = SelfPlayBatch(num_envs, seed=seed, masks=False, observations=False, first_player="random")
        self.random = np.random.default_rng(seed)
        self.threads = threads
        self.pool: toolbox.SnapshotPool[PolicyNetwork] = toolbox.SnapshotPool(LEAGUE)
        self.opponents = np.full(num_envs, NEW_GAME)
        games = np.arange(num_envs)
        self.league_game = games - (num_envs - round(LEAGUE.fraction * num_envs))  # below 0: self-play
        self.learner_seats = games % 2

    def collect(self, network: PolicyNetwork) -> Batch:
        """Play the next ``TURNS`` turns of every game."""
        env, shape = self.env, (TURNS, self.env.num_envs)
        # A past self is drawn more often the more it wins ("hard"). A learner that plays
        # only its present self forgets how to beat earlier ones.
        drawn = self.pool.draw(self.random, set(self.opponents[self.opponents >= 0].tolist()))
        dealt = np.full(env.num_envs, SELF)
        if drawn:  # adjacent games have the same opponent, in both seats
            dealt = np.where(self.league_game < 0, SELF, np.array(drawn)[self.league_game // 2 % len(drawn)])
        states, actions = np.empty(shape, env.states.dtype), np.zeros(shape, np.int64)
        log_probabilities, values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        successor_values = np.zeros((*shape, *network.successor_values_shape), np.float32)
        players, learning = np.empty(shape, np.uint8), np.empty(shape, bool)
        winners, scores = np.empty(shape, np.int8), np.empty((*shape, 2), np.int16)
        opponents = np.empty(shape, np.int64)
        for t in range(TURNS):
            # Games get an opponent when they begin, and keep it to their end. Otherwise the result would
            # belong to no opponent.
            self.opponents = np.where(self.opponents == NEW_GAME, dealt, self.opponents)
            states[t], players[t], opponents[t] = env.states, env.current_players, self.opponents
            is_learners = (self.opponents == SELF) | (env.current_players == self.learner_seats)
            # A turn with one legal action needs no network, and is not learned from. Three in ten turns of
            # random games are of this kind.
            has_choice = env.counts > 1
            learning[t] = has_choice & is_learners
            actions[t] = env.random_actions  # the only action where there is one
            uniforms = self.random.random(int(has_choice.sum()))
            asked = np.where(is_learners, SELF, self.opponents)[has_choice]
            chosen, of_chosen, *found = self.choose(network, env.states[has_choice], asked, uniforms)
            actions[t, has_choice], log_probabilities[t, has_choice] = chosen, of_chosen
            values[t, has_choice], successor_values[t, has_choice] = found
            env.step(actions[t])
            winners[t] = np.where(env.terminations, env.rewards.argmax(1), -1)
            scores[t] = env.final_scores
            self.opponents[env.terminations] = NEW_GAME
        self.record(winners, opponents)
        rewards = toolbox.rewards_of_players(REWARD, winners, scores)
        later_rewards, *last = self.look_ahead(network)
        rewards[-1] += later_rewards
        decisions = toolbox.Decisions(players, learning, values, rewards, winners >= 0, *last)
        of_turns = {"states": states, "actions": actions, "log_probabilities": log_probabilities}
        return batch_of(decisions, successor_values=successor_values, **of_turns)

    def look_ahead(self, network: PolicyNetwork) -> tuple[Array, Array, Array]:
        """Return the rewards of both after the rollout, the player of the next choice, and its value."""
        # Values are learned only at choices. So turns without a choice are played in a copy of the games, up
        # to a choice or the end, whose rewards are known.
        ahead = toolbox.next_choices(self.env.states)
        goes_on, values = ahead.winners < 0, np.zeros(self.env.num_envs, np.float32)
        asked, uniforms = np.full(goes_on.sum(), SELF), self.random.random(goes_on.sum())
        values[goes_on] = self.choose(network, ahead.states[goes_on], asked, uniforms)[2]
        rewards = toolbox.rewards_of_players(REWARD, ahead.winners, ahead.scores)
        return rewards, ahead.states["current_player"].copy(), values

    def choose(self, network: PolicyNetwork, states: Any, asked: Array, uniforms: Array) -> list[Array]:
        """Return the answers of the policies that are ``asked``; see :func:`ask`."""
        # Threads share games, not operations: they wait for each other once a turn. The learner's games are
        # divided; those of a past self are few and stay together.
        mine, past = np.flatnonzero(asked == SELF), np.unique(asked[asked != SELF]).tolist()
        parts = [(network, rows) for rows in np.array_split(mine, self.threads.size)]
        parts += [(self.pool.policies[number], np.flatnonzero(asked == number)) for number in past]
        shape = network.successor_values_shape

        def work(share: list[tuple[PolicyNetwork, Array]]) -> list[tuple[Array, ...]]:
            return [(rows, *ask(policy, states[rows], uniforms[rows], shape)) for policy, rows in share]

        shares = self.threads.map(work, [parts[k :: self.threads.size] for k in range(self.threads.size)])
        rows, *answers = map(np.concatenate, zip(*(part for share in shares for part in share), strict=True))
        return [answer[np.argsort(rows)] for answer in answers]

    def record(self, winners: Array, opponents: Array) -> None:
        """Record results against past selves in the league, on which the next draws depend."""
        ends = (winners >= 0) & (opponents >= 0)
        met, won = opponents[ends], (winners == self.learner_seats)[ends]
        numbers = np.unique(met).tolist()
        wins = {number: float(won[met == number].sum()) for number in numbers}
        self.pool.record(wins, {number: float((met == number).sum()) for number in numbers})


def ask(network: PolicyNetwork, states: Any, uniforms: Array, shape: tuple[int, int]) -> tuple[Array, ...]:
    """Draw actions; return them, log-probabilities, values ``(n,)`` and successor values ``(n, *shape)``."""
    # Of 2026 actions 79 are legal on average: flat lists of them need a fraction of the work of masked rows,
    # and illegal actions have no logits.
    inputs, legal = network.encode(states)
    with torch.inference_mode():
        output = network(inputs)
    log_probabilities = output.log_probabilities.numpy()
    chosen = toolbox.sample(legal.counts, log_probabilities, uniforms)
    # The learner's values of successors are kept for learning. Past selves may have none.
    successor_values = output.successor_values.numpy()
    successor_values = (
        successor_values
        if successor_values.shape[1:] == shape
        else np.zeros((len(states), *shape), np.float32)
    )
    return legal.actions[chosen], log_probabilities[chosen], output.values.numpy(), successor_values


def batch_of(decisions: toolbox.Decisions, **of_turns: Any) -> Batch:
    """Return the learner's decisions among all turns, with advantages and returns."""
    # Turns do not alternate: the player behind on the time track moves. Advantages follow each
    # player's own decisions, so signs never change, and the loser's last decision gets the reward of the
    # defeat. Nothing is learned from the moves of past selves.
    learning = decisions.learner_mask
    estimates = toolbox.advantages(decisions, GAMMA, GAE_LAMBDA)[learning]
    normalized = (estimates - estimates.mean()) / (estimates.std() + 1e-8)
    taken = {name: array[learning] for name, array in of_turns.items()}
    return taken | {"advantages": normalized, "returns": estimates + decisions.values[learning]}


def part_of(batch: Batch, rows: Array) -> Batch:
    """Return some of the decisions."""
    return {name: array[rows] for name, array in batch.items()}


def losses(network: PolicyNetwork, batch: Batch, entropy_weight: float, rows: Array) -> dict[str, Tensor]:
    """Return the clipped objective of Schulman et al. 2017 for some decisions, and its parts."""
    part = part_of(batch, rows)
    names = ("log_probabilities", "advantages", "returns", "successor_values")
    old, advantage, returns, successor_values = (torch.from_numpy(part[name]) for name in names)
    inputs, legal = network.encode(part["states"])
    # Successor values are those of the rollout: to compute them in every epoch would double the time, and
    # they hardly change.
    output = network(inputs, successor_values)
    # The position of each action in the flat list. index_select: its gradient is the same every time.
    positions = torch.from_numpy(legal.position_of(part["actions"]))
    ratio = (output.log_probabilities.index_select(0, positions) - old).exp()
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
    policy = -torch.min(ratio * advantage, clipped * advantage).mean()
    value, entropy = (output.values - returns).square().mean(), output.entropies.mean()
    loss = policy + VALUE_COEFFICIENT * value - entropy_weight * entropy
    return {"loss": loss, "policy": policy, "value": value, "entropy": entropy}


def learn(
    network: PolicyNetwork, optimizer: torch.optim.Optimizer, games: SelfPlay, progress: float
) -> dict[str, float]:
    """Collect a rollout and learn from it in epochs of minibatches; return the last losses."""
    # A network may score kinds of moves by the values of their successors. That doubles the time and needs
    # good values, so it begins late. Until then the factor is 0.
    if progress < LOOKAHEAD_FROM:
        network.look_ahead(0)
    elif not network.looks_ahead:
        network.look_ahead(LOOKAHEAD_FACTOR)
    batch = games.collect(network)
    # Annealing: large steps and much exploration first, then small ones. A constant rate that is good at the
    # beginning is too large at the end.
    optimizer.param_groups[0]["lr"] = 2e-3 * (1e-4 / 2e-3) ** progress
    parts: dict[str, torch.Tensor] = {}
    losses_of = partial(losses, network, batch, 0.012 + (0.002 - 0.012) * progress)
    for _ in range(EPOCHS):
        order = games.random.permutation(len(batch["actions"]))
        for rows in np.array_split(order, math.ceil(len(order) / MINIBATCH)):
            # Each thread computes the gradient of its part. A loss that is not finite is an error.
            parts = toolbox.compute_gradient(optimizer, losses_of, rows, games.threads, MAX_GRADIENT_NORM)
            optimizer.step()
    return {name: part.item() for name, part in parts.items()}


def measure(network: PolicyNetwork, games: int, seed: int) -> str:
    """Return the win rate against greedy, with its 95% interval."""
    # Paired games: every circle is played from both seats, so that its luck cancels out. The interval is over
    # circles, and all evaluations have the same circles, which makes the curve smoother.
    result = toolbox.play_matches(toolbox.PolicyAgent(network, "own PPO"), "greedy", games, seed=seed)
    low, high = result.interval
    return f"{result.win_rate:6.1%} ({low:.1%} to {high:.1%}) against greedy in {games} games"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a policy for Patchwork by self-play, in one file.")
    parser.add_argument("--minutes", type=float, default=20, help="of the whole run (default: %(default)s)")
    parser.add_argument("--steps", type=int, help="turns of all games, instead of minutes")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="(default: %(default)s)")
    parser.add_argument("--num-envs", type=int, default=512, help="games at once (default: %(default)s)")
    parser.add_argument("--games", type=int, default=1000, help="of the last match (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("own_ppo"), help="folder (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.out.exists():
        parser.error(f"{arguments.out} exists already")
    steps = 1 if arguments.steps is None else arguments.steps
    if min(arguments.minutes, steps, arguments.threads, arguments.num_envs, arguments.games) <= 0:
        parser.error("all numbers must be above 0")
    if arguments.games % 2:
        parser.error("--games must be even: each circle is played from both seats")
    return arguments


def main() -> None:
    arguments, began = parse_arguments(), time.perf_counter()
    # One seed gives weights, games and draws. On a CPU two runs with the same --steps and --threads are equal
    # to the bit. Publish several seeds all the same: one says little about the next.
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)  # threads share batches instead: see choose()
    toolbox.tune_malloc()
    network = toolbox.PatchworkNetwork(NETWORK)
    optimizer = torch.optim.Adam(network.parameters(), eps=1e-5, fused=True)
    games = SelfPlay(arguments.num_envs, arguments.seed, toolbox.ThreadPool(arguments.threads))
    steps = iteration = 0
    while True:
        minutes = (time.perf_counter() - began) / 60
        progress = minutes / arguments.minutes if arguments.steps is None else steps / arguments.steps
        if progress >= 1:
            break
        parts = learn(network, optimizer, games, progress)
        steps, iteration = steps + TURNS * arguments.num_envs, iteration + 1
        if iteration % LEAGUE.snapshot_every == 0:
            games.pool.add(network)
        if iteration % EVALUATE_EVERY == 0:
            strength = measure(network, min(400, arguments.games), seed=0)
            figures = "  ".join(f"{name} {part:.3f}" for name, part in parts.items())
            print(f"{steps:9} steps  {minutes:5.1f} minutes  {strength}  {figures}", flush=True)
    # The checkpoint is an agent: agents.load("mine"), --against mine, opponent="mine".
    toolbox.save_policy(arguments.out, network, {"made_by": "own_ppo.py", "steps": steps})
    strength = measure(network, arguments.games, seed=1)  # other circles than those of the curve
    print(f"{steps:9} steps  {(time.perf_counter() - began) / 60:5.1f} minutes  {strength}")


if __name__ == "__main__":
    main()

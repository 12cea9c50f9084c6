"""Evolutionary PPO with AgileRL on the batch of Gymnasium: a small population against one opponent.

    pip install --no-deps --requirement requirements-older.lock --editable .
    python examples/agilerl_ppo.py --steps 200000 --opponent random

AgileRL's ``train_on_policy`` takes the environments of ``gymnasium.make_vec`` unchanged. It passes
``info["action_mask"]`` to the policy and stores it for learning. It expects that the next game begins in the
step in which one ends, as it does here. Mutations change learning rates and
batch sizes between generations, and a tournament selects the agents that continue.

Its policy is a plain perceptron with 2026 outputs, which learns every placement separately. The network of
this project, which ``sb3_maskable_ppo.py`` and ``own_ppo.py`` train, is far stronger. AgileRL's evaluations
of the population have no intervals; the matches at the end have. AgileRL 2.58 asks for PettingZoo below
1.27, with which it runs, and imports peft without asking for it.

What to expect: after 40,000 turns of each of two agents the better one wins 60% of 100 games against
random (95% interval 50% to 69%).
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
import torch
from agilerl.algorithms.core.registry import HyperparameterConfig, RLParameter
from agilerl.algorithms.ppo import PPO
from agilerl.hpo.mutation import Mutations
from agilerl.hpo.tournament import TournamentSelection
from agilerl.training.train_on_policy import train_on_policy

from patchwork_env.agents import ObservingAgent
from patchwork_env.learning.evaluation import play_matches

GAMES = 32
STEPS_PER_LEARNING = 2048


def make_env(opponent: str) -> gymnasium.vector.VectorEnv:
    """Return a batch of games against an opponent, with the margin as reward."""
    return gymnasium.make_vec(
        "patchwork_env:Patchwork-v0",
        num_envs=GAMES,
        vectorization_mode="vector_entry_point",
        opponent=opponent,
        rewards="margin",
    )


def make_population(env: gymnasium.vector.VectorEnv, size: int) -> list[PPO]:
    """Return PPO agents with the same settings, which mutations change later."""
    ranges = HyperparameterConfig(
        lr=RLParameter(min=1e-4, max=3e-3), batch_size=RLParameter(min=128, max=1024, dtype=int)
    )
    return [
        PPO(
            env.single_observation_space,  # pyright: ignore[reportArgumentType]
            env.single_action_space,
            index=index,
            hp_config=ranges,
            net_config={"encoder_config": {"hidden_size": [256]}, "head_config": {"hidden_size": [256]}},
            batch_size=512,
            lr=1e-3,
            learn_step=STEPS_PER_LEARNING,
            gamma=1.0,
            num_envs=env.num_envs,
        )
        for index in range(size)
    ]


def train(steps: int, opponent: str, population: int = 2, seed: int = 0) -> PPO:
    """Train a population for ``steps`` of each agent; return the best one."""
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002  the tournament draws from it
    env = make_env(opponent)
    env.reset(seed=seed)
    trained, fitness = train_on_policy(
        env,
        "Patchwork-v0",
        "PPO",
        make_population(env, population),
        max_steps=steps,
        evo_steps=max(STEPS_PER_LEARNING, steps // 4),
        selection_strategy=TournamentSelection(2, elitism=True, population_size=population),
        mutation=Mutations(
            no_mutation=0.6,
            architecture=0.0,
            new_layer_prob=0.0,
            parameters=0.0,
            activation=0.0,
            rl_hp=0.4,
            rand_seed=seed,
        ),
        verbose=False,
    )
    return trained[int(np.argmax(fitness))]


def as_player(agent: PPO) -> ObservingAgent:
    """Return the player that draws its actions from an agent's policy."""
    agent.set_training_mode(False)
    return ObservingAgent(
        lambda observations, masks: agent.get_action(observations, action_mask=masks)[0], "policy"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--steps", type=int, default=200_000, help="own turns of each agent (default: 200000)"
    )
    parser.add_argument("--opponent", default="random", help="the opponent of the agents (default: random)")
    parser.add_argument("--games", type=int, default=200, help="games per match at the end (default: 200)")
    options = parser.parse_args()
    if options.games % 2:
        parser.error(f"--games is {options.games}; it must be even: each circle is played from both seats")
    agent = train(options.steps, options.opponent)
    player = as_player(agent)
    for opponent in ("random", "greedy"):
        print(play_matches(player, opponent, options.games).table(), flush=True)


if __name__ == "__main__":
    main()

"""Trains MaskablePPO of sb3-contrib by self-play, on a compiled batch and with the network of the game.

    pip install ".[train]"
    python examples/sb3_maskable_ppo.py
    python examples/sb3_maskable_ppo.py --game nmbr9 --out nmbr9.zip

The algorithm is sb3-contrib's, unchanged. The parts that ``patchwork_env.integrations.sb3`` adds:

- ``SelfPlayVecEnv`` plays all games in one compiled call, opponents included;
- ``PatchworkPolicy`` scores only legal actions, with a network that knows the shapes of placements; the
  perceptron of ``"MlpPolicy"`` must learn every placement of every patch separately;
- ``SelfPlayCallback`` makes the present and past weights the opponents;
- ``EvaluationCallback`` and ``evaluate`` play paired games, with intervals of the win rate;
- ``BoolMaskBuffer`` holds a byte for each action instead of four, and NMBR 9 has 16,394 actions.

``maskable_ppo.zip`` is then an agent: ``gymnasium.make(..., opponent="maskable_ppo.zip")``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from patchwork_env.integrations.sb3 import (
    BoolMaskBuffer,
    EvaluationCallback,
    PatchworkPolicy,
    SelfPlayCallback,
    SelfPlayVecEnv,
    evaluate,
)
from patchwork_env.learning.toolbox import Reward, tune_malloc

GAMES: dict[str, dict[str, Any]] = {
    # The margin says more than the winner; a lead of 40 points counts as much as the win.
    "patchwork": {"rewards": Reward(outcome=1.0, margin=1.0, margin_scale=40.0, margin_cut=1.0)},
    "nmbr9": {"rewards": "score", "reward_scale": 0.02},  # alone; a value learns small numbers best
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains MaskablePPO of sb3-contrib on a game.")
    parser.add_argument("--game", choices=GAMES, default="patchwork", help="(default: %(default)s)")
    parser.add_argument(
        "--steps", type=int, default=655_360, help="decisions of the learner (default: %(default)s)"
    )
    parser.add_argument("--envs", type=int, default=64, help="games side by side (default: %(default)s)")
    parser.add_argument("--games", type=int, default=200, help="of each match (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("maskable_ppo.zip"), help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.game == "patchwork" and arguments.games % 2:
        parser.error(f"--games is {arguments.games}; it must be even: each circle is played from both seats")

    tune_malloc()  # faster on Linux
    torch.set_num_threads(1)  # more threads wait for each other
    env = SelfPlayVecEnv(arguments.envs, game=arguments.game, seed=arguments.seed, **GAMES[arguments.game])
    model = MaskablePPO(
        PatchworkPolicy,
        env,
        n_steps=32,
        batch_size=min(512, 32 * arguments.envs),
        n_epochs=4,
        learning_rate=lambda left: 1e-4 * 10**left,  # falls from 1e-3 to 1e-4
        gamma=1.0,  # what counts is how a game ends
        gae_lambda=0.9,
        rollout_buffer_class=BoolMaskBuffer,
        seed=arguments.seed,
        verbose=1,
    )
    callbacks: list[BaseCallback] = [EvaluationCallback(["greedy"], every=20, games=arguments.games)]
    if env.num_players > 1:
        callbacks.append(SelfPlayCallback(fraction=0.25, size=10))
    model.learn(arguments.steps, callbacks)
    model.save(arguments.out)
    for opponent in ("random", "greedy"):
        print(evaluate(str(arguments.out), opponent, arguments.games).table())


if __name__ == "__main__":
    main()

"""Clones an agent by supervised learning from a dataset of Minari, and measures the clone.

    pip install ".[train,minari]"
    python examples/minari_cloning.py                                   # 40 games: a minute, and a weak clone
    python examples/minari_cloning.py --games 10000 --epochs 6 --workers 2 --out champion_clone

The games of ``--agent`` against itself are recorded first, unless there is a dataset of that ``--id``. Any
dataset of one agent can be used, also of NMBR 9.

The network is that of ``algorithm: ppo``, which scores only legal actions. It learns to give the action that
was played the highest probability, and to predict the return of the player to move. A tenth of the games is
kept for validation: *agreement* is the share of their decisions in which the clone chooses the action that
was played. ``docs/use/datasets.md`` has figures.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import minari
import numpy as np
import numpy.typing as npt
import torch

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import Inputs, PolicyNetwork
from patchwork_env.integrations.minari import record
from patchwork_env.learning import toolbox

Array = npt.NDArray[Any]
VALUE_COEFFICIENT = 0.5
MAX_GRADIENT_NORM = 1.0
LARGEST_BATCH = 1024
"""The number of decisions in a batch during validation."""


class Decisions(NamedTuple):
    """Decisions between several legal actions, concatenated.

    Attributes:
        observations: float32 ``(n, size)``, of the players to move.
        counts: int64 ``(n,)``, the number of legal actions in each.
        legal: int16 ``(total,)``, the legal actions, decision by decision.
        actions: int64 ``(n,)``, the actions that were played.
        returns: float32 ``(n,)``, the rewards of the player to move from here to the end of the game.
    """

    observations: Array
    counts: Array
    legal: Array
    actions: Array
    returns: Array

    @classmethod
    def of(cls, dataset: minari.MinariDataset) -> Decisions:
        """Return all decisions of a dataset with more than one legal action."""
        parts = [cls._of_episode(episode) for episode in dataset.iterate_episodes()]
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    @classmethod
    def _of_episode(cls, episode: minari.EpisodeData) -> Decisions:
        masks = episode.observations["action_mask"][:-1]  # the last observation is at the end
        counts = masks.sum(axis=1, dtype=np.int64)
        has_choice = counts > 1
        return cls(
            observations=episode.observations["observation"][:-1][has_choice],
            counts=counts[has_choice],
            legal=masks[has_choice].nonzero()[1].astype(np.int16),
            actions=episode.actions[has_choice],
            returns=episode.rewards[::-1].cumsum()[::-1][has_choice].astype(np.float32),
        )

    def batches(self, size: int, random: np.random.Generator | None = None) -> Iterator[Decisions]:
        """Yield the decisions in batches: in order, or shuffled."""
        count = len(self.actions)
        order = np.arange(count) if random is None else random.permutation(count)
        begins = self.counts.cumsum() - self.counts
        for rows in np.array_split(order, math.ceil(count / size)):
            counts = self.counts[rows]
            within = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
            legal = self.legal[np.repeat(begins[rows], counts) + within]
            yield Decisions(self.observations[rows], counts, legal, self.actions[rows], self.returns[rows])

    def encoded(self) -> tuple[Inputs, toolbox.LegalLists]:
        """Return the inputs of a network, and the lists of legal actions that it scores."""
        lists = toolbox.LegalLists(
            self.counts, self.legal.astype(np.int64), np.repeat(np.arange(len(self.counts)), self.counts)
        )
        return Inputs(*map(torch.from_numpy, (self.observations, lists.rows, lists.actions))), lists


def losses(network: PolicyNetwork, batch: Decisions) -> torch.Tensor:
    """Return the cross-entropy of the recorded actions plus the weighted squared error of the values."""
    inputs, lists = batch.encoded()
    output = network(inputs)
    chosen = torch.from_numpy(lists.position_of(batch.actions))
    policy: torch.Tensor = -output.log_probabilities.index_select(0, chosen).mean()
    value: torch.Tensor = (output.values - torch.from_numpy(batch.returns)).square().mean()
    return policy + VALUE_COEFFICIENT * value


def learn(network: PolicyNetwork, decisions: Decisions, kept: Decisions, options: argparse.Namespace) -> None:
    """Train by epochs of minibatches, with a learning rate that falls to 0."""
    random = np.random.default_rng(options.seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=options.learning_rate)
    steps = options.epochs * math.ceil(len(decisions.actions) / options.batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for epoch in range(options.epochs):
        total = 0.0
        for batch in decisions.batches(options.batch_size, random):
            optimizer.zero_grad()
            loss = losses(network, batch)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), MAX_GRADIENT_NORM)
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch.actions)
        mean = total / len(decisions.actions)
        print(f"epoch {epoch + 1}: loss {mean:.3f}, agreement {agreement(network, kept):.1%}", flush=True)


def agreement(network: PolicyNetwork, decisions: Decisions) -> float:
    """Return the share of decisions in which the most probable action was played."""
    equal = 0
    for batch in decisions.batches(LARGEST_BATCH):
        inputs, lists = batch.encoded()
        with torch.inference_mode():
            scores = network(inputs).log_probabilities.numpy()
        kinds = network.kinds_of(lists.actions)
        chosen = toolbox.most_probable(lists.counts, kinds, scores, network.num_kinds)
        equal += int((lists.actions[chosen] == batch.actions).sum())
    return equal / len(decisions.actions)


def measure(clone: Path, original: str, games: int, seed: int) -> None:
    """Play matches and print win rates with 95% intervals."""
    for opponent in dict.fromkeys(("random", "greedy", original)):
        result = toolbox.play_matches(str(clone), opponent, games, seed=seed)
        low, high = result.interval
        print(
            f"against {opponent}: wins {result.win_rate:.1%} ({low:.1%} to {high:.1%}) of {games} games, "
            f"by {result.score_difference:+.1f} points"
        )


def dataset_of(options: argparse.Namespace) -> minari.MinariDataset:
    """Return the dataset of the id; record it first if it does not exist."""
    if options.id in minari.list_local_datasets():
        return minari.load_dataset(options.id)
    print(f"recording {options.games} games of {options.agent} as {options.id}", flush=True)
    return record(options.agent, options.games, options.id, seed=options.seed, workers=options.workers)


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Clones an agent by supervised learning from a dataset.")
    parser.add_argument(
        "--agent", default="champion:instant", help="the agent to clone (default: %(default)s)"
    )
    parser.add_argument("--games", type=int, default=40, help="to record (default: %(default)s)")
    parser.add_argument("--id", help="of the dataset (default: one that names the agent and the games)")
    parser.add_argument("--workers", type=int, default=1, help="processes that record (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--batch-size", type=int, default=256, help="decisions (default: %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="(default: %(default)s)")
    parser.add_argument("--matches", type=int, default=100, help="games of each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("clone"), help="folder (default: %(default)s)")
    options = parser.parse_args(words)
    if options.out.exists():
        parser.error(f"{options.out} exists already: name another folder with --out")
    if options.id is None:
        name = "".join(letter if letter.isalnum() else "-" for letter in options.agent)
        options.id = f"patchwork-env/{name}-{options.games}-games-v0"
    return options


def main() -> None:
    options = parse_arguments()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # small networks are slower with more threads
    toolbox.tune_malloc()
    dataset = dataset_of(options)
    about = dataset.storage.metadata["patchwork_env"]
    # The episodes of a game are adjacent: whole games are kept for validation, so none is partly learned.
    players = dataset.total_episodes // about["games"]
    first_kept = players * (about["games"] - max(1, about["games"] // 10))
    learned, kept = (
        Decisions.of(minari.MinariDataset(dataset.storage, episode_indices=indices))
        for indices in np.split(np.arange(dataset.total_episodes), [first_kept])
    )
    print(f"{len(learned.actions):,} decisions to learn from, {len(kept.actions):,} kept apart", flush=True)
    network = toolbox.network_class(about["game"])(NetworkConfig())
    learn(network, learned, kept, options)
    info = {"made_by": "minari_cloning.py", "dataset": options.id, "agreement": agreement(network, kept)}
    toolbox.save_policy(options.out, network, info)
    measure(options.out, about["agents"][0], options.matches, options.seed + 1)


if __name__ == "__main__":
    main()

"""Short runs of the configurations of the project, with their own algorithms and networks."""

from patchwork_env.learning.config import load_config

_ALL = "total_steps=2 checkpoint_every=1 threads=1 evaluation.every=1 evaluation.games=2"
_ALL += " evaluation.final_games=2 evaluation.opponents=[random,greedy]"
_OF_ALGORITHMS = {
    "ppo": "num_envs=16 rollout_steps=8 minibatch_size=64",
    "alphazero": "num_envs=16 rollout_steps=8 minibatch_size=64 gradient_steps=2 evaluation_simulations=2",
    "maskable_ppo": "num_envs=16 rollout_steps=16 minibatch_size=64",
    "td": "games=8 gradient_steps=2 minibatch_size=64",
    "solo_td": "games=8 gradient_steps=2 minibatch_size=64",
}


def small(configuration):
    """The values of ``--set`` for a run of one small iteration with one small evaluation."""
    algorithm = load_config(configuration).algorithm
    return [*_ALL.split(), *(f"{algorithm}.{key}" for key in _OF_ALGORITHMS[algorithm].split())]

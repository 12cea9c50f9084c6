"""Small runs of the learners whose games workers play."""

from tests.learning import same_runs

TD = """
algorithm: td
total_steps: 1500
checkpoint_every: 2
threads: 1
seed: 5
reward: {outcome: 0.5, margin: 1.0}
td: {games: 8, candidate_placements: 4, window: 3, gradient_steps: 4, minibatch_size: 64}
evaluation: {every: 100, games: 2, final_games: 2, opponents: [random]}
cluster: {games_per_job: 3}
"""
SOLO_TD = """
game: nmbr9
algorithm: solo_td
total_steps: 640
checkpoint_every: 2
threads: 1
seed: 5
solo_td: {games: 8, candidate_placements: 4, window: 3, gradient_steps: 4, minibatch_size: 64}
evaluation: {every: 100, games: 2, final_games: 2, opponents: [random]}
cluster: {games_per_job: 3}
"""
ALPHAZERO = """
algorithm: alphazero
total_steps: 512
checkpoint_every: 2
threads: 1
seed: 5
network: {width: 16, depth: 1, channels: 4}
alphazero:
  {num_envs: 16, rollout_steps: 8, simulations: 4, max_considered: 4, window: 3, gradient_steps: 2,
   minibatch_size: 32, evaluation_simulations: 4}
evaluation: {every: 100, games: 2, final_games: 2, opponents: [random]}
cluster: {games_per_job: 7}
"""
CONFIGS = {"td": TD, "solo_td": SOLO_TD, "alphazero": ALPHAZERO}


def state_of(trainer):
    """All that a trainer is but for the games in flight, comparable."""
    values, arrays = same_runs.state_of(trainer)
    values.pop("in_flight", None)
    return values, {name: array for name, array in arrays.items() if not name.startswith("in_flight")}

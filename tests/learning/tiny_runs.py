"""A run of seconds for each algorithm and each of its games."""

_SHARED = """
checkpoint_every: 2
threads: 1
seed: 5
evaluation: {every: 3, games: 2, final_games: 2, opponents: [random]}
"""
_SMALL_NETWORK = "network: {width: 16, depth: 1, channels: 4}"
_LEAGUE = "league: {fraction: 0.5, snapshot_every: 1, size: 2, opponents: 2}"

PPO = f"""{_SHARED}
algorithm: ppo
total_steps: 512
{_SMALL_NETWORK}
{_LEAGUE}
ppo: {{num_envs: 8, rollout_steps: 16, minibatch_size: 64, averaging_power: 2}}
"""
PPO_OF_NMBR9 = f"""{_SHARED}
game: nmbr9
algorithm: ppo
total_steps: 960
network: {{width: 16, depth: 1}}
ppo: {{num_envs: 8, rollout_steps: 30, minibatch_size: 64, points: 0.5}}
"""
MASKABLE_PPO = f"""{_SHARED}
algorithm: maskable_ppo
total_steps: 1200
{_SMALL_NETWORK}
{_LEAGUE}
maskable_ppo: {{num_envs: 8, rollout_steps: 16, minibatch_size: 64}}
"""
MASKABLE_PPO_OF_NMBR9 = f"""{_SHARED}
game: nmbr9
algorithm: maskable_ppo
total_steps: 320
network: {{width: 16, depth: 1}}
maskable_ppo: {{num_envs: 4, rollout_steps: 20, minibatch_size: 40, epochs: 1, points: 0.5}}
"""
ALPHAZERO = f"""{_SHARED}
algorithm: alphazero
total_steps: 768
{_SMALL_NETWORK}
alphazero:
  {{num_envs: 16, rollout_steps: 12, simulations: 4, max_considered: 4, window: 3, gradient_steps: 2,
    minibatch_size: 32, evaluation_simulations: 4}}
"""
TD = f"""{_SHARED}
algorithm: td
total_steps: 1500
reward: {{outcome: 0.5, margin: 1.0}}
td:
  {{games: 8, candidate_placements: 4, window: 3, gradient_steps: 4, minibatch_size: 64, averaging_power: 2}}
"""
SOLO_TD = f"""{_SHARED}
game: nmbr9
algorithm: solo_td
total_steps: 640
solo_td: {{games: 8, candidate_placements: 4, window: 3, gradient_steps: 4, minibatch_size: 64}}
"""
TINY_RUNS = {
    "ppo": PPO,
    "ppo of nmbr9": PPO_OF_NMBR9,
    "maskable_ppo": MASKABLE_PPO,
    "maskable_ppo of nmbr9": MASKABLE_PPO_OF_NMBR9,
    "alphazero": ALPHAZERO,
    "td": TD,
    "solo_td": SOLO_TD,
}

"""Measures NMBR 9's engine: steps per second of random play in batches, the choice of the action included.

    python benchmarks/nmbr9_engine.py [--games N] [--repeats N] [--seconds S] [--json]

See stepping.py for what is measured.
"""

import stepping

from patchwork_env.nmbr9_v0 import SelfPlayVectorEnv


def make(games: int, threads: int, masks: bool, observations: bool) -> SelfPlayVectorEnv:
    """Games alone; this environment works with one thread."""
    assert threads == 1
    return SelfPlayVectorEnv(games, seed=1, masks=masks, observations=observations)


if __name__ == "__main__":
    stepping.run(make, (__doc__ or "").partition("\n")[0], most_threads=1)

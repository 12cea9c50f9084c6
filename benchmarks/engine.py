"""Measures Patchwork's engine: steps per second of random play in batches, the choice of the action included.

    python benchmarks/engine.py [--games N] [--threads N] [--repeats N] [--seconds S] [--json]

See stepping.py for what is measured.
"""

from functools import partial

import stepping

from patchwork_env.learning.system.machine import usable_cores
from patchwork_env.patchwork_v0 import SelfPlayVectorEnv

if __name__ == "__main__":
    make = partial(SelfPlayVectorEnv, seed=1)
    stepping.run(make, (__doc__ or "").partition("\n")[0], most_threads=usable_cores())

"""The PettingZoo module of NMBR 9: ``env()`` with the standard wrappers, ``raw_env()``, ``parallel_env()``.

All take the options of :class:`~patchwork_env.nmbr9.aec_env.Nmbr9AECEnv`.
"""

from patchwork_env.nmbr9.aec_env import Nmbr9AECEnv as raw_env  # noqa: N813
from patchwork_env.nmbr9.aec_env import env
from patchwork_env.nmbr9.parallel_env import Nmbr9ParallelEnv as parallel_env  # noqa: N813

__all__ = ["env", "parallel_env", "raw_env"]

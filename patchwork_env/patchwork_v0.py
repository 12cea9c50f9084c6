"""The PettingZoo module of Patchwork: ``env()`` with the standard wrappers and ``raw_env()`` without.

Both take the options of :class:`~patchwork_env.patchwork.aec_env.PatchworkAECEnv`.
"""

from patchwork_env.patchwork.aec_env import PatchworkAECEnv as raw_env  # noqa: N813
from patchwork_env.patchwork.aec_env import env

__all__ = ["env", "raw_env"]

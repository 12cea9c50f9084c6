"""RLlib: the games as an environment, the project's networks as modules, and a league.

Needs the extra ``ray``.
"""

from __future__ import annotations

from patchwork_env.core.extras import from_extra

with from_extra("ray", f"{__name__} needs"):
    import ray.rllib  # noqa: F401

"""The board games Patchwork and NMBR 9 as fast, exact reinforcement-learning environments.

Importing the package registers its environments with Gymnasium and PettingZoo; it compiles nothing.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import gymnasium
import pettingzoo

__all__ = ["__version__"]

try:
    __version__ = version("patchwork-env")
except PackageNotFoundError:  # a copy of the sources that was never installed
    __version__ = "0+unknown"


def _register() -> None:
    """Makes the environments known by name, unless an earlier import in this process already has."""
    for name, package in (("Patchwork", "patchwork"), ("Nmbr9", "nmbr9")):
        if f"{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"{name}-v0",
                entry_point=f"patchwork_env.{package}.gym_env:{name}Env",
                vector_entry_point=f"patchwork_env.{package}.gym_vector_env:{name}VectorEnv",
            )
        if f"{package}/{package}-v0" not in pettingzoo.aec_registry:
            pettingzoo.register(
                "aec", f"{package}/{package}_v0", entry_point=f"patchwork_env.{package}_v0:env"
            )


_register()

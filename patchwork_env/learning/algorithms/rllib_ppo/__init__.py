"""RLlib: both games as its environments, the project's networks as its modules, its PPO as an algorithm here.

Needs RLlib; without it the import of any module here says how to install it.
"""

try:
    import ray.rllib  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"rllib_ppo needs {error.name}: pip install 'patchwork-env[ray]'", name=error.name
    ) from None

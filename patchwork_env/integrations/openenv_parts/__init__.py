"""The pieces of :mod:`patchwork_env.integrations.openenv`, and the command ``patchwork-env openenv``."""

"""Gumbel search of many games at once; see :mod:`~patchwork_env.search.gumbel.search`."""

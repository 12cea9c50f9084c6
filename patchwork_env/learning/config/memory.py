"""Whether there is memory for a configuration, found out before any of it is asked for."""

from __future__ import annotations

import operator
from functools import reduce

from patchwork_env.errors import ConfigError
from patchwork_env.learning.config.run_config import RunConfig
from patchwork_env.learning.system.machine import memory_limit


def check_memory(config: RunConfig, available: int | None = None) -> RunConfig:
    """The configuration, after a check that this process may have the memory that it needs at the least.

    Args:
        config: The configuration of a run.
        available: The bytes that the process may have; None for those of the machine.

    Raises:
        ConfigError: It needs more; the message names the keys that ask for most of it.
    """
    available = memory_limit() if available is None else available
    needs = config.least_memory()
    if sum(needs.values()) > available:
        keys, most = max(needs.items(), key=operator.itemgetter(1))
        values = ", ".join(f"{key} is {_value(config, key)}" for key in keys)
        raise ConfigError(
            f"{values}: that takes at least {_shown(most)} of memory, and the whole configuration "
            f"{_shown(sum(needs.values()))}; this process may have {_shown(available)}"
        )
    return config


def _shown(size: int) -> str:
    return f"{size / 1e9:,.2f} GB"


def _value(config: RunConfig, key: str) -> object:
    value: object = reduce(getattr, key.split("."), config)
    return list(value) if isinstance(value, tuple) else value

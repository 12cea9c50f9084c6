"""The errors of the package that users may want to catch."""

from __future__ import annotations

__all__ = [
    "ConfigError",
    "DivergenceError",
    "IllegalActionError",
    "InUseError",
    "MissingExtraError",
    "NoWorkersError",
    "OpponentError",
    "StorageError",
    "UnknownOptionError",
    "WorkerError",
]


# --- games and environments -------------------------------------------------------------------------------


class IllegalActionError(ValueError):
    """An action that the current player may not play, or a value that is not an action or move."""


class OpponentError(RuntimeError):
    """The opponent failed or chose an illegal action; a single game is as it was, a batch needs a reset."""


class UnknownOptionError(TypeError):
    """A function or class has no such argument; the message names the nearest one."""


class MissingExtraError(ModuleNotFoundError):
    """A library of an optional extra is not installed; the message says how to install it."""


# --- learning ---------------------------------------------------------------------------------------------


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the key and its source."""


class DivergenceError(RuntimeError):
    """A loss or a gradient is not finite; the message lists the losses."""


class StorageError(OSError):
    """A folder cannot be written; the message names it and gives the system's reason."""


class InUseError(OSError):
    """Another process uses the folder."""


class WorkerError(RuntimeError):
    """A process ended before its work was done."""


class NoWorkersError(ConnectionError):
    """There is no worker to do the work."""

"""Every error that users may want to catch, beside those of Python itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

__all__ = [
    "ConfigError",
    "DivergenceError",
    "IllegalActionError",
    "InUseError",
    "MissingExtraError",
    "NoWorkersError",
    "OpponentError",
    "OtherSettingsError",
    "StorageError",
    "UnknownOptionError",
    "WorkerError",
]


# --- games and environments -------------------------------------------------------------------------------


class IllegalActionError(ValueError):
    """An action that the current player may not play, or a value that is no action or move at all."""


class OpponentError(RuntimeError):
    """The opponent failed or chose an action that is not legal; the game is left as it was."""


class UnknownOptionError(TypeError):
    """An argument that a function or class does not have; the message names the nearest one it has."""


class MissingExtraError(ModuleNotFoundError):
    """A library of an optional extra is not installed; the message says how to install it."""


# --- learning ---------------------------------------------------------------------------------------------


class ConfigError(ValueError):
    """A configuration that cannot be run; the message names the key and its source."""


class DivergenceError(RuntimeError):
    """A loss or its gradient is no longer a finite number.

    ``losses``, its terms and diagnostics, and ``batch``, the arrays that these come from, are named.
    """

    def __init__(
        self,
        message: str,
        losses: Mapping[str, float] | None = None,
        batch: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.losses = dict(losses or {})
        self.batch = dict(batch or {})


class StorageError(OSError):
    """A folder cannot be written; the message names it and gives the reason that the system gives."""


class InUseError(OSError):
    """Another process uses the folder."""


class OtherSettingsError(ValueError):
    """The folder holds a tournament with other settings."""


class WorkerError(RuntimeError):
    """A process ended before its work was done."""


class NoWorkersError(ConnectionError):
    """There is no worker to do the work."""

"""What there is: the algorithms with their configurations and trainers, and the shipped configurations."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from patchwork_env.core.documents import one_line
from patchwork_env.core.extras import from_extra
from patchwork_env.core.names import nearest, short_repr
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config.keys import RunConfig

DEFAULT_ALGORITHM = "ppo"
_CONFIGS = {
    "alphazero": "patchwork_env.learning.algorithms.alphazero.config:AlphaZeroConfig",
    "maskable_ppo": "patchwork_env.learning.algorithms.maskable_ppo:MaskablePpoConfig",
    "ppo": "patchwork_env.learning.algorithms.ppo.config:PpoConfig",
    "solo_td": "patchwork_env.learning.algorithms.td.config:SoloTdConfig",
    "td": "patchwork_env.learning.algorithms.td.config:TdConfig",
}
"""The configuration of each algorithm, by name, for those of other libraries stand above this module."""


@cache
def algorithms() -> Mapping[str, type[RunConfig]]:
    """The configurations of all algorithms by name; neither trainers nor PyTorch are imported."""
    return {name: resolve_name(config) for name, config in _CONFIGS.items()}


def config_class(algorithm: Any, game: Any) -> type[RunConfig]:
    """The class of the configuration of an algorithm, which must learn the game; no other is imported."""
    if algorithm not in tuple(_CONFIGS):  # which may be no text
        close = nearest(str(algorithm), _CONFIGS)
        hint = f"did you mean {close!r}?" if close else f"known are {', '.join(_CONFIGS)}"
        raise ConfigError(f"algorithm is {short_repr(algorithm)}; {hint}")
    kind: type[RunConfig] = resolve_name(_CONFIGS[algorithm])
    if game not in kind.GAMES:
        able = [name for name, config in algorithms().items() if game in config.GAMES]
        if able:
            names = ", ".join(able)
            raise ConfigError(f"algorithm is {algorithm!r}; algorithms for the game {game}: {names}")
    return kind


def trainer_class(config: RunConfig) -> Any:
    """The class of the trainer for a configuration."""
    with from_extra("train", f"{config.algorithm} needs"):
        return resolve_name(config.TRAINER)


# --- shipped configurations -------------------------------------------------------------------------------

_PACKAGE = Path(__file__).resolve().parents[2]
CONFIGS = _PACKAGE / "configs" if (_PACKAGE / "configs").is_dir() else _PACKAGE.parent / "configs"
"""The folder of the configurations that come with the project, in an installation or in a clone."""


def find_config(source: str | Path) -> Path:
    """The file of a shipped configuration by its name, such as ``quick``, or of any by its path."""
    if not isinstance(source, str | Path):
        raise ConfigError(f"a configuration is a name or a path, not {short_repr(source)}")
    path = Path(source)
    with suppress(OSError):  # the name is too long for the system
        if path.is_file():
            return path
    shipped = {file.stem: file for file in sorted(CONFIGS.glob("*.yaml"))}
    if str(source) in shipped:
        return shipped[str(source)]
    beside = sorted(map(str, path.parent.glob("*.yaml"))) if path.suffix == ".yaml" else []
    known = [*beside, *shipped]
    close = nearest(str(source), known) or nearest(path.stem, shipped)
    hint = f"did you mean {close}?" if close else "train --list lists those that come with the project"
    raise ConfigError(f"there is no configuration {one_line(str(source))}; {hint}")

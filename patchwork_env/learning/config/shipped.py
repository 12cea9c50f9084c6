"""The configurations that come with the project, found by name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from patchwork_env.core.documents import one_line
from patchwork_env.core.names import nearest, short_repr
from patchwork_env.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parents[2]


def _folder() -> Path:
    """``configs/`` of a clone, or the copy of it that an installation has."""
    installed = _PACKAGE / "configs"
    return installed if installed.is_dir() else _PACKAGE.parent / "configs"


CONFIGS = _folder()
"""The folder of the configurations that come with the project."""


def find_config(source: str | Path) -> Path:
    """The file of a configuration.

    Args:
        source: The name of a shipped configuration, such as ``quick``, or the path of a YAML file.

    Raises:
        ConfigError: There is no such file; the message names the nearest one.
    """
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
    hint = f"did you mean {close}?" if close else f"there are {', '.join(known)}"
    raise ConfigError(f"there is no configuration {one_line(str(source))}; {hint}")

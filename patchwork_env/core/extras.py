"""Errors about libraries of the package's extras that are not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from patchwork_env.errors import MissingExtraError

_PROJECTS = {
    "PIL": "pillow",
    "markupsafe": "jinja2",
    "mcp_types": "mcp",
    "pygame": "pygame-ce",
    "pyspiel": "open-spiel",
    "yaml": "pyyaml",
}
"""The projects on PyPI by module, where the names differ."""


@contextmanager
def from_extra(extra: str, who: str) -> Iterator[None]:
    """Within the block, raise an error about a missing module as a MissingExtraError.

    The message begins with ``who``, such as ``"exports need"``. ``extra`` is the name of an extra, or several
    names with commas; if it is empty, errors stay as they are.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if not extra or isinstance(error, MissingExtraError):
            raise
        raise missing_extra(who, str(error.name), extra) from None


def missing_extra(who: str, module: str, extra: str) -> MissingExtraError:
    """Return the error about a missing module of an extra, which names what to install."""
    name = module.partition(".")[0]
    project = _PROJECTS.get(name, name.replace("_", "-"))
    return MissingExtraError(f"{who} {name}: pip install {project}, or the extra {extra!r}", name=module)

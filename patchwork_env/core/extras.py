"""Errors about libraries of the package's extras that are not installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from patchwork_env.errors import MissingExtraError

_PROJECTS = {
    "PIL": "pillow",
    "markupsafe": "jinja2",
    "pygame": "pygame-ce",
    "pyspiel": "open-spiel",
    "yaml": "pyyaml",
}
"""The projects on PyPI by module, where the names differ."""


@contextmanager
def from_extra(extra: str, who: str) -> Iterator[None]:
    """Within the block, raise an error about a missing module as a MissingExtraError.

    The message begins with ``who``, such as ``"exports need"``. Without an extra, errors stay as they are.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if not extra or isinstance(error, MissingExtraError):
            raise
        raise missing_extra(who, str(error.name), extra) from None


@contextmanager
def for_command(extras: str) -> Iterator[None]:
    """Within the block, raise an error about a module of ``extras``, such as ``"train,hub"``, likewise."""
    try:
        yield
    except ModuleNotFoundError as error:
        if isinstance(error, MissingExtraError) or _project(str(error.name)) not in _libraries_of(extras):
            raise
        raise missing_extra("it needs", str(error.name), extras) from None


def missing_extra(who: str, module: str, extra: str) -> MissingExtraError:
    """Return the error about a missing module of an extra, which names what to install."""
    return MissingExtraError(
        f"{who} {module.partition('.')[0]}: pip install {_project(module)}, or the extra {extra!r}",
        name=module,
    )


def _project(module: str) -> str:
    name = module.partition(".")[0]
    return _PROJECTS.get(name, name.replace("_", "-"))


def _libraries_of(extras: str) -> set[str]:
    """Return the projects that extras install; none if the package is not installed."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        requirements = requires("patchwork-env") or []
    except PackageNotFoundError:
        return set()
    names = extras.replace("_", "[_-]").replace(",", "|")
    marker = re.compile(rf"""extra == ["']({names})["']""")
    return {re.split(r"[<>=!~; \[]", each)[0] for each in requirements if marker.search(each)}

"""Libraries that only some capabilities need: the extras of the package install them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from patchwork_env.errors import MissingExtraError

_PROJECTS = {
    "PIL": "pillow",
    "markupsafe": "jinja2",
    "pygame": "pygame-ce",
    "pyspiel": "open-spiel",
    "yaml": "pyyaml",
}
"""The names under which libraries are installed that are imported by others."""


@contextmanager
def from_extra(extra: str, who: str) -> Iterator[None]:
    """Within the block, a library of an extra that is not installed is a MissingExtraError.

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
    """Within the block, the same error names all that a command lacks of ``extras``, such as ``"train,hub"``.

    Errors about what they do not bring, such as modules of users, stay as they are.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module, libraries = str(error.name), _libraries_of(extras)
        if not (namesakes := _namesakes(module, libraries)):
            raise
        raise _error("it needs", module, list(filter(_is_missing, libraries)) or namesakes) from None


def missing_extra(who: str, module: str, extra: str) -> MissingExtraError:
    """The error about a module of an extra that is not installed, which says what to install.

    It names libraries, as this package is on no index and its name there may be anybody's: the one that has
    the module, or else those of the extra that are missing.
    """
    libraries = _libraries_of(extra)
    needed = _namesakes(module, libraries) or list(filter(_is_missing, libraries)) or libraries
    return _error(who, module, needed or [_project(module)])


def _error(who: str, module: str, libraries: Sequence[str]) -> MissingExtraError:
    words = " ".join(f"'{each}'" if "[" in each else each for each in libraries)
    return MissingExtraError(f"{who} {module.partition('.')[0]}: pip install {words}", name=module)


def _libraries_of(extras: str) -> list[str]:
    """The libraries that extras bring; none where the package is not installed."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        requirements = requires("patchwork-env") or []
    except PackageNotFoundError:
        return []
    names = extras.replace("_", "[_-]").replace(",", "|")
    marker = re.compile(rf"""extra == ["']({names})["']""")
    return [re.split("[<>=!~; ]", each)[0] for each in requirements if marker.search(each)]


def _namesakes(module: str, libraries: Sequence[str]) -> list[str]:
    return [each for each in libraries if each.partition("[")[0] == _project(module)]


def _project(module: str) -> str:
    name = module.partition(".")[0]
    return _PROJECTS.get(name, name.replace("_", "-"))


def _is_missing(library: str) -> bool:
    from importlib.metadata import PackageNotFoundError, version

    try:
        version(library.partition("[")[0])
    except PackageNotFoundError:
        return True
    return False

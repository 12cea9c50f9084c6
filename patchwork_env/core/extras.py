"""Libraries that only some capabilities need: the extras of the package install them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def from_extra(extra: str, who: str) -> Iterator[None]:
    """Within the block, an import of a library of an extra that is not installed says how to install it.

    The message begins with ``who``, such as ``"exports need"``. Without an extra, errors stay as they are.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if not extra:
            raise
        library = str(error.name).partition(".")[0]
        message = f"{who} {library}: {how_to_install(library, extra)}"
        raise ModuleNotFoundError(message, name=error.name) from None


def how_to_install(module: str, extra: str) -> str:
    """The command that installs a module which belongs to an extra.

    It names libraries, as this package is on no index and its name there may be anybody's: the one that is
    called like the module, or else those of the extra that are missing.
    """
    from importlib.metadata import PackageNotFoundError, requires, version

    def is_missing(library: str) -> bool:
        try:
            version(library.partition("[")[0])
        except PackageNotFoundError:
            return True
        return False

    try:
        requirements = requires("patchwork-env") or []
    except PackageNotFoundError:
        requirements = []
    marker = re.compile(rf"""extra == ["']{extra.replace("_", "[_-]")}["']""")
    libraries = [re.split("[<>=!~; ]", each)[0] for each in requirements if marker.search(each)]
    if not libraries:
        return f"pip install '.[{extra}]' in a clone of the project"
    namesakes = [each for each in libraries if each.partition("[")[0] == module.replace("_", "-")]
    needed = namesakes or list(filter(is_missing, libraries)) or libraries
    return " ".join(["pip install", *(f"'{each}'" if "[" in each else each for each in needed)])

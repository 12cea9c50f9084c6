"""Libraries that only some capabilities need: the extras of the package install them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def from_extra(extra: str, who: str) -> Iterator[None]:
    """Within the block, an import of a library that is not installed tells how to install it.

    Args:
        extra: The extra that the library belongs to; if it is empty, errors stay as they are.
        who: The beginning of the message, such as ``"exports need"``.

    Raises:
        ModuleNotFoundError: A library is not installed.
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

    It names libraries rather than this package, which is on no index: its name there may be anybody's. These
    are the one that is called like the module, or else those of the extra that are missing.
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
    found = [re.split("[<>=!~; ]", each)[0] for each in requirements if marker.search(each)]
    if not found:
        return f"pip install '.[{extra}]' in a clone of the project"
    named = [each for each in found if each.partition("[")[0] == module.replace("_", "-")]
    words = named or list(filter(is_missing, found)) or found
    return " ".join(["pip install", *(f"'{each}'" if "[" in each else each for each in words)])

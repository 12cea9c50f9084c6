"""Libraries that only some capabilities need: the extras of the package install them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def from_extra(extra: str, who: str) -> Iterator[None]:
    """Within the block, an import of a library that is not installed tells which extra installs it.

    Args:
        extra: The extra, or several with commas; if it is empty, errors stay as they are.
        who: The beginning of the message, such as ``"exports need"``.

    Raises:
        ModuleNotFoundError: A library is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if not extra:
            raise
        message = f"{who} {error.name}: pip install 'patchwork-env[{extra}]'"
        raise ModuleNotFoundError(message, name=error.name) from None

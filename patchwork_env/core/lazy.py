"""Packages whose names are imported when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from patchwork_env.core.names import renamed


def lazy_names(
    package: str, modules: Mapping[str, str], old_names: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package.

    ``modules`` has the module in it of each name, ``old_names`` the present name of each old one.
    """
    refuse = renamed(package, old_names or {})

    def get(name: str) -> Any:
        if name not in modules:
            return refuse(name)
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return get, lambda: sorted({*vars(sys.modules[package]), *modules})

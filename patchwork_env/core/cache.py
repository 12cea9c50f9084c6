"""Machine code on disk: kept until a source that it follows from changes, and never a reason to fail.

Numba's own cache looks for changes in the function's own file alone, but constants and kernels of other
modules are compiled in too; two processes that compile at once may give the same name to different code; and
what its files hold is unpickled and run unseen, so that a damaged one stops every start. Here a kernel has a
file for each combination of types, named after all that the code follows from, with a digest of both before
it. A file that is damaged or cannot be read counts as missing, and is replaced once the code is compiled.

Sources are read when a kernel is first called, long after their modules were loaded. What was edited in the
meantime is not what the process runs, so nothing is taken from disk or kept for such modules.

The digest keeps accidents away, not attackers: whoever may write to the folder can have code run.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import glob
import hashlib
import itertools
import logging
import os
import pickle
import shutil
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from patchwork_env.core.callee import Callee, CalleeOnDisk

_LOGGER = logging.getLogger(__name__)
_LIBRARY = __name__.partition(".")[0]
_DIGEST_SIZE = hashlib.sha256().digest_size
_WARNINGS = itertools.count()


def keep_on_disk(dispatcher: Any, modules: tuple[str, ...]) -> None:
    """Makes a function of Numba keep its machine code on disk for later processes.

    The folder is Numba's: one in that of ``NUMBA_CACHE_DIR``, otherwise ``__pycache__`` beside the source,
    otherwise one of the user. If none can be written, nothing is kept.

    Args:
        dispatcher: The function, as ``numba.njit`` returns it.
        modules: The names of the modules whose sources, with all that they import, the code follows from.
    """
    try:
        for module in modules:
            _note_loaded(module)
        kind = _CalleeCache if isinstance(dispatcher, Callee) else _Cache
        dispatcher._cache = kind(dispatcher.py_func, modules)
    except Exception as error:  # nowhere to write, or a Numba that keeps its cache in another way
        _warn(f"it cannot be kept: {error}")


class _Cache(FunctionCache):  # type: ignore[misc]
    """What Numba asks for the machine code of a function before compiling it, and gives it to afterwards."""

    def __init__(self, function: Any, modules: tuple[str, ...]) -> None:
        super().__init__(function)
        os.makedirs(self.cache_path, exist_ok=True)  # Numba has not tried if the source lies in an archive
        self._modules = modules

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The function as compiled for some types of arguments; None if it has to be compiled."""
        target_context.refresh()
        try:
            return self._load(self._index_key(sig, target_context.codegen()), target_context)
        except FileNotFoundError:
            return None
        except Exception as error:
            _warn(str(error))
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps what was compiled for some types of arguments."""
        try:
            self._save(self._index_key(sig, data.codegen), data)
        except Exception as error:
            _warn(f"it cannot be kept: {error}")

    def _load(self, key: Any, target_context: Any) -> Any:
        file = self._file(key)
        if file is None:
            return None
        path, purpose = file
        contents = path.read_bytes()
        digest, code = contents[:_DIGEST_SIZE], contents[_DIGEST_SIZE:]
        if digest != _digest(purpose, code):
            raise ValueError(f"{path} is damaged")
        try:
            found_key, compiled = pickle.loads(code)  # noqa: S301, the digest has shown that this class wrote it
        except (AttributeError, ImportError):  # made for a class that no longer exists
            return None
        return self._impl.rebuild(target_context, compiled) if found_key == key else None

    def _save(self, key: Any, compiled: Any) -> None:
        file = self._file(key)
        if file is None or not self._impl.check_cachable(compiled):
            return
        path, purpose = file
        code = dumps((key, self._impl.reduce(compiled)))
        os.makedirs(path.parent, exist_ok=True)
        self._remove_outdated(path)
        if path.is_dir():
            shutil.rmtree(path)
        with self._cache_file._open_for_write(str(path)) as opened:
            opened.write(_digest(purpose, code) + code)

    def _file(self, key: Any) -> tuple[Path, bytes] | None:
        """The file for a key of Numba's, and all that the code follows from; None if that cannot be told."""
        sources = _digest_of_sources(self._modules)
        if sources is None:
            return None
        purpose = repr((sources, bool(config.BOUNDSCHECK), key)).encode()
        name = f"{self._impl.filename_base}.{sources[:8]}-{_digest(purpose).hex()[:16]}.nbc"
        return Path(self.cache_path, name), purpose

    def _remove_outdated(self, current: Path) -> None:
        """Deletes the files of the same function for other sources, even if it stood in another line then."""
        function, _, version = self._impl.filename_base.rpartition("-")
        sources = current.suffixes[-2].partition("-")[0]
        for path in current.parent.glob(f"{glob.escape(function)}-*.{version.partition('.')[2]}.*"):
            if sources not in path.name:
                with contextlib.suppress(OSError):
                    path.unlink()


class _CalleeCache(_Cache):
    _impl_class = CalleeOnDisk


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def _warn(reason: str) -> None:
    """Logs a warning, once in a process however many kernels there are."""
    if next(_WARNINGS) == 0:
        _LOGGER.warning("some code is compiled anew and not taken from disk: %s", reason)


# --- the sources on which machine code depends --------------------------------------------------------------


@functools.cache
def _digest_of_sources(modules: tuple[str, ...]) -> str | None:
    """SHA-256 over the sources of modules and of all that they import, directly or not.

    None if a module has no source, or one that was changed after it was loaded. Only imports from the
    modules' own top-level packages and from this library are followed.
    """
    names = [_true_name(module) for module in modules]
    roots = {_LIBRARY, *(name.partition(".")[0] for name in names)}
    sources: dict[str, str] = {}
    while names:
        name = names.pop()
        if name in sources or name.partition(".")[0] not in roots:
            continue
        source = _source(name)
        if source is None and name in modules:
            _warn(f"{name} has no source")
            return None
        if source is not None and not _is_as_noted(str(_find(name).origin)):  # type: ignore[union-attr]
            _warn(f"{name} has changed since it was loaded")
            return None
        sources[name] = source or ""
        names.extend(_imported_modules(name))
    texts = [numba.__version__, *(sources[name] for name in sorted(sources))]
    return _digest("\0".join(texts).encode()).hex()


_Status = tuple[int, int, int] | None
_NOTED: dict[str, _Status] = {}
"""Files with sources, as they were when their modules were loaded or, those of this library, before."""


def _status(path: str) -> _Status:
    """What changes with a file's contents; None if there is no file, as in an archive."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _is_as_noted(path: str) -> bool:
    """Whether a file is as it was when it was noted; notes it otherwise."""
    status = _status(path)
    return _NOTED.setdefault(path, status) == status


def _note_folder(folder: str) -> None:
    """Notes all files with sources in a folder and below it."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                _is_as_noted(entry.path)
            elif entry.name != "__pycache__" and entry.is_dir():
                _note_folder(entry.path)


_SPECS: dict[str, Any] = {}
"""What the import system knows of the modules with kernels; it makes a new object at every loading."""


def _note_loaded(module: str) -> None:
    """Notes the files of all loaded modules of a module's package; those of this library are noted already.

    Raises:
        ValueError: The module was loaded before, maybe from another source.
    """
    top = module.partition(".")[0]
    if module not in _SPECS and top != _LIBRARY:
        for name, loaded in list(sys.modules.items()):
            if name.partition(".")[0] == top:
                _is_as_noted(str(getattr(loaded, "__file__", None)))
    spec = getattr(sys.modules.get(module), "__spec__", None)
    if _SPECS.setdefault(module, spec) is not spec:
        raise ValueError(f"{module} was loaded more than once")


_note_folder(os.path.dirname(os.path.dirname(__file__)))  # before any module with kernels is loaded


def _true_name(module: str) -> str:
    """The name under which a module is imported, even if it runs as a script with ``python -m``."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return module if spec is None else str(spec.name)


@functools.cache
def _find(name: str) -> ModuleSpec | None:
    """Finds the module or package of a name in the folder of its parent, without importing anything."""
    parent = name.rpartition(".")[0]
    path = getattr(sys.modules.get(parent), "__path__", ()) if parent else None
    return None if path == () else PathFinder.find_spec(name, path)


@functools.cache
def _source(name: str) -> str | None:
    """The source of a module; None if there is no such module, or only its machine code."""
    try:
        source: str | None = _find(name).loader.get_source(name)  # type: ignore[union-attr]
    except (AttributeError, ImportError, OSError):
        return None
    return source


@functools.cache
def _imported_modules(name: str) -> tuple[str, ...]:
    """All modules that a module imports when it is loaded, and all names imported from them."""
    spec = _find(name)
    is_package = spec is not None and spec.submodule_search_locations is not None
    package = name if is_package else name.rpartition(".")[0]
    found: list[str] = []
    for node in _statements(ast.parse(_source(name) or "")):
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            found += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return tuple(found)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements that run when a module is loaded: those of functions do not."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from _statements(child)

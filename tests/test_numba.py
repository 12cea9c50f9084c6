"""What the package uses of Numba beyond what Numba promises, and the versions that are known to have it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

from patchwork_env.core import cache, compile, linking

PROJECT = Path(__file__).parents[1]
PROMISED = {"numba", "numba.extending", "numba.types", "numba.typed", "numba.core.cgutils", "llvmlite.ir"}
"""Modules that Numba documents for users and for extensions."""
INTERNALS = {
    "numba.core.caching": ["CompileResultCacheImpl", "NullCache"],
    "numba.core.codegen": [
        *("JITCodeLibrary._finalize_dynamic_globals", "JITCodeLibrary._finalize_final_module"),
        *("JITCodeLibrary._get_module_for_linking", "JITCodeLibrary._optimize_final_module"),
        *("JITCodeLibrary._optimize_functions", "JITCodeLibrary._verify_declare_only_symbols"),
        *("JITCodeLibrary.add_linking_library", "JITCodeLibrary.finalize"),
    ],
    "numba.core.compiler": [
        *("CompilerBase", "CompileResult._find_referenced_environments", "DefaultPassBuilder"),
        *("Flags._values", "compile_result"),
    ],
    "numba.core.compiler_machinery": ["PassManager", "register_pass"],
    "numba.core.event": ["Listener", "register", "trigger_event"],
    "numba.core.registry": [
        *("CPUDispatcher._numba_type_", "CPUDispatcher.add_overload", "CPUDispatcher.compile"),
        "CPUDispatcher.get_call_template",
    ],
    "numba.core.runtime": ["rtsys"],
    "numba.core.sigutils": ["normalize_signature"],
    "numba.core.typed_passes": ["NativeLowering.run_pass"],
    "numba.core.serialize": ["dumps"],
    "llvmlite.binding": ["parse_bitcode"],
}
"""Everything else, by module, with methods that are overridden or called; see ``core.compile``."""
CACHE = ["check_cachable", "locator.get_cache_path", "rebuild", "reduce"]
"""What the form has in which Numba keeps a function on disk."""
OPTIONS = ["_nrt", "boundscheck", "error_model", "forceinline", "nogil"]
OPTIONS += ["no_cfunc_wrapper", "no_cpython_wrapper"]
"""Options of compilation, of which four are not documented."""
HINT = "with this version of Numba kernels take twice as long to compile"


def imported_modules(path: Path) -> set[str]:
    """The modules of Numba and llvmlite that a file imports, or the names that it imports from them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.partition(".")[0] in ("numba", "llvmlite")}


@pytest.mark.slow
def test_internals_are_listed_and_used_behind_one_door() -> None:
    """What ``core.compile`` does without where it is not there; elsewhere it would be an error."""
    behind = {Path(module.__file__) for module in (cache, linking)}
    for path in (PROJECT / "patchwork_env").rglob("*.py"):
        allowed = {*PROMISED, *(INTERNALS if path in behind else ())}
        unknown = {name for name in imported_modules(path) if not {name, name.rpartition(".")[0]} & allowed}
        assert not unknown, f"{path.name} uses {unknown}"


def missing(names: Iterable[str], place: object) -> list[str]:
    """The names that cannot be found in a module or an object."""

    def is_there(name: str) -> bool:
        try:
            attrgetter(name)(place)
        except AttributeError:
            return False
        return True

    return [name for name in names if not is_there(name)]


@pytest.mark.parametrize(("module", "names"), INTERNALS.items(), ids=str)
def test_internals_are_there(module: str, names: list[str]) -> None:
    assert not missing(names, import_module(module)), HINT


def test_the_cache_on_disk_and_the_options_are_there() -> None:
    form = import_module("numba.core.caching").CompileResultCacheImpl(compile.kernel)
    assert not missing(CACHE, form), HINT
    assert not missing(OPTIONS, import_module("numba.core.options").DefaultOptions), HINT


def test_the_newest_version_that_is_known_is_the_one_that_the_suite_runs_with() -> None:
    lock = (PROJECT / "requirements.lock").read_text(encoding="utf-8")
    locked = re.search(r"^numba==(\d+)\.(\d+)", lock, re.MULTILINE)
    assert locked is not None
    assert (int(locked[1]), int(locked[2])) == linking.NEWEST

"""What the package uses of Numba beyond what Numba promises, and the versions that are known to have it."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib import import_module
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from patchwork_env.core import compile

PROJECT = Path(__file__).parents[1]
PROMISED = {"numba", "numba.extending", "numba.types", "numba.typed"}
"""Modules that Numba documents for users."""
INTERNALS = {
    "numba.core.caching": ["CompileResultCacheImpl", "FunctionCache"],
    "numba.core.codegen": ["JITCodeLibrary"],
    "numba.core.compiler": ["CompilerBase", "CompileResult", "DefaultPassBuilder", "Flags", "compile_result"],
    "numba.core.compiler_machinery": ["PassManager", "register_pass"],
    "numba.core.event": ["Listener", "register", "trigger_event"],
    "numba.core.registry": ["CPUDispatcher"],
    "numba.core.runtime": ["rtsys"],
    "numba.core.sigutils": ["normalize_signature"],
    "numba.core.typed_passes": ["NativeLowering"],
    "numba.core.serialize": ["dumps"],
    "numba.core.errors": ["TypingError"],
    "numba.core.cgutils": [
        *("alloca_once_value", "for_range", "get_or_insert_function"),
        *("do_boundscheck", "unpack_tuple"),
    ],
    "numba.np.arrayobj": ["make_array"],
    "llvmlite.binding": ["parse_bitcode"],
    "llvmlite.ir": ["Constant", "FloatType", "FunctionType", "IntType", "Undefined", "VectorType"],
}
"""Everything else, by module."""
METHODS = {
    "codegen.JITCodeLibrary": [
        *("_finalize_dynamic_globals", "_finalize_final_module", "_get_module_for_linking"),
        *("_optimize_final_module", "_verify_declare_only_symbols", "add_linking_library", "finalize"),
    ],
    "compiler.CompileResult": ["_find_referenced_environments"],
    "compiler.Flags": ["_values"],
    "registry.CPUDispatcher": ["_numba_type_", "add_overload", "compile", "get_call_template"],
    "typed_passes.NativeLowering": ["run_pass"],
}
"""What is overridden or called of classes, which must have it."""
CACHE = [
    *(f"_impl.{name}" for name in ("reduce", "rebuild", "check_cachable", "filename_base")),
    *("_index_key", "_cache_file._open_for_write", "cache_path"),
]
"""Attributes of the cache that Numba gives every function."""
OPTIONS = [
    "_nrt",
    "boundscheck",
    "error_model",
    "forceinline",
    "no_cfunc_wrapper",
    "no_cpython_wrapper",
    "nogil",
]
"""Options of compilation, of which four are not documented."""
HINT = "this version of Numba cannot be used: raise the ceiling in pyproject.toml only with a way without"


def imported_modules() -> set[str]:
    """The modules of Numba and llvmlite that the package imports."""
    found = set()
    for path in (PROJECT / "patchwork_env").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            found |= {name for name in names if name.partition(".")[0] in ("numba", "llvmlite")}
    return found


def test_the_list_of_internals_is_complete() -> None:
    allowed = {*PROMISED, *INTERNALS}
    unknown = [
        name for name in imported_modules() if name not in allowed and name.rpartition(".")[0] not in allowed
    ]
    assert unknown == [], "name in INTERNALS what is used of these"


@pytest.mark.parametrize(("module", "names"), INTERNALS.items(), ids=str)
def test_internals_are_there(module: str, names: list[str]) -> None:
    missing = [name for name in names if not hasattr(import_module(module), name)]
    assert not missing, f"{module} has no {', '.join(missing)}; {HINT}"


@pytest.mark.parametrize(("name", "methods"), METHODS.items(), ids=str)
def test_methods_are_there(name: str, methods: list[str]) -> None:
    module, _, kind = name.partition(".")
    found = getattr(import_module(f"numba.core.{module}"), kind)
    missing = [method for method in methods if not hasattr(found, method)]
    assert not missing, f"{name} has no {', '.join(missing)}; {HINT}"


@pytest.mark.parametrize("name", CACHE)
def test_the_cache_on_disk_is_there(name: str) -> None:
    found = import_module("numba.core.caching").FunctionCache(compile.kernel)
    assert attrgetter(name)(found), HINT


def test_the_options_are_there() -> None:
    known = import_module("numba.core.options").DefaultOptions
    missing = [name for name in OPTIONS if not hasattr(known, name)]
    assert not missing, f"njit has no option {', '.join(missing)}; {HINT}"


def test_the_version_is_one_of_those_tested() -> None:
    """The newest that the metadata allows is the one that the suite runs with."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (numba,) = [r for r in map(Requirement, project["dependencies"]) if r.name == "numba"]
    assert numba.specifier.contains(version("numba"))
    lock = (PROJECT / "requirements.lock").read_text(encoding="utf-8")
    locked = re.search(r"^numba==(\d+)\.(\d+)", lock, re.MULTILINE)
    assert locked is not None
    ceiling = f"{locked[1]}.{int(locked[2]) + 1}"
    assert not numba.specifier.contains(ceiling), f"Numba {ceiling} is allowed and was never tried"

"""The decorator of kernels: compilation, linking, and the validity of machine code on disk."""

import functools
import importlib
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from types import GenericAlias, ModuleType
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import pytest
from numba import config, njit, types
from numba.core.errors import NumbaError
from numba.core.typing.templates import builtin_registry
from numba.extending import overload, overload_method

import patchwork_env
from patchwork_env.core import cache, compile, linking, progress
from patchwork_env.core.compile import kernel

PROJECT = Path(__file__).parents[2]
compiled_only = pytest.mark.skipif(config.DISABLE_JIT, reason="looks at machine code")


@kernel
def _sum_of_squares(numbers: np.ndarray) -> int:
    total = 0
    for i in range(len(numbers)):
        total += numbers[i] * numbers[i]
    return total


@kernel
def _quotient(a: float, b: float) -> float:
    return a / b


@compiled_only
def test_kernels_get_an_entry_when_they_are_called_from_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def square(number):
        return number * number

    def sum_of_two_squares():
        return square(3) + square(number=4)

    square = kernel(square)
    sum_of_two_squares = kernel(sum_of_two_squares)
    assert sum_of_two_squares() == 25
    assert len(square.linked.signatures) == 1
    assert square.signatures == []
    assert square(12) == 144
    assert len(square.signatures) == len(square.linked.signatures) == 1
    assert len(list(tmp_path.rglob("*.linkedkernel.*.nbc"))) == 1


@kernel
def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


@kernel
def twice_the_factorial(n: int) -> int:
    return 2 * factorial(n)


def test_kernels_may_call_themselves_and_divide_by_0():
    assert (factorial(5), twice_the_factorial(4)) == (120, 48)
    assert _quotient(1.0, 0.0) == np.inf  # as in NumPy


@kernel
def _doubled(numbers: np.ndarray) -> None:
    numbers[:] = numbers + numbers


@kernel(allocates=True)
def _tripled(numbers: np.ndarray) -> np.ndarray:
    return 3 * numbers


@compiled_only
def test_arrays_are_made_by_kernels_that_ask_for_it():
    with pytest.raises(NumbaError, match="NRT required"):
        _doubled(np.arange(3))
    assert _tripled(np.arange(3)).tolist() == [0, 3, 6]


def kernels():
    """All kernels of the package, with their names."""
    (root,) = map(Path, patchwork_env.__path__)
    for file in root.rglob("*.py"):
        if not re.search(r"\bkernel\b", file.read_text(encoding="utf-8")):
            continue
        name = ".".join(file.relative_to(root.parent).with_suffix("").parts)
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("patchwork_env"):
                raise
            continue  # it needs a library that is not installed
        for variable, value in vars(module).items():
            if getattr(value, "__module__", None) == name and hasattr(value, "targetoptions"):
                yield f"{name}.{variable}", value


def words_of(annotation, names):
    """The names in an annotation; aliases and named tuples are replaced by the names of their fields."""
    words: set[str] = set()
    for word in re.findall(r"[\w.]+", annotation):
        meant = names.get(word)
        if isinstance(meant, GenericAlias):
            words |= words_of(str(meant).replace("numpy.", "np."), names)
        elif hasattr(meant, "_fields"):
            fields = get_type_hints(meant).values()
            words |= words_of(" ".join(getattr(field, "__name__", str(field)) for field in fields), names)
        else:
            words.add(word)
    return words


@compiled_only
def test_kernels_that_do_not_count_references_return_numbers():
    """Otherwise the caller would release a reference to the returned array that was never counted."""
    borrowing = {name: found for name, found in kernels() if not found.targetoptions["_nrt"]}
    assert len(borrowing) > 300
    for name, found in borrowing.items():
        returned = found.py_func.__annotations__["return"]
        words = words_of(returned, found.py_func.__globals__)
        assert words <= {"None", "bool", "int", "float", "np.uint64", "tuple"}, f"{name} returns {returned}"


def write_modules(folder, **sources):
    """Make a package of modules that import the decorator."""
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").touch()
    for name, source in sources.items():
        first = "" if name == "constants" else "from patchwork_env.core.compile import kernel, template\n"
        (folder / f"{name}.py").write_text(first + source)
    return folder


@pytest.fixture
def package(tmp_path):
    """A small package with the decorator, a constant, a kernel that uses it, and a kernel that calls that."""
    folder = write_modules(
        tmp_path / "patchwork_env",
        constants="STEP = 1\n",
        near="from patchwork_env.constants import STEP\n@kernel\ndef step(x):\n    return x + STEP\n",
        rules="from patchwork_env.near import step\n@kernel\ndef two_steps(x):\n    return step(step(x))\n",
    )
    write_modules(folder / "core")
    for module in (cache, compile, linking, progress):
        shutil.copy(module.__file__, folder / "core")
    return folder


def printed(package, code):
    """What code prints in a new process."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": "", "NUMBA_DISABLE_JIT": "0"}
    # No bytecode: Python would use the old one if a source changes within a second and keeps its size.
    command = [sys.executable, "-B", "-c", code]
    done = subprocess.run(command, cwd=package.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def contents_of(source, constant):
    """The inputs of the compilation of ``f``, with ``constant`` as given."""
    near = ModuleType("near")
    near.constant = constant  # type: ignore[attr-defined]
    names: dict[str, Any] = {"constant": constant, "near": near, "kernel": kernel, "__name__": "made_up"}
    exec(f"def g(x):\n    return x + constant\n{source}", names)
    return repr(list(cache._contents(names["f"])))


class Pair(NamedTuple):
    first: int
    second: int


class Plain:
    pass


CLASSES = {
    "fields": [NamedTuple("Named", [("a", int), ("b", int)]), NamedTuple("Named", [("b", int), ("a", int)])],
    "defaults": [namedtuple("Named", "a b", defaults=[default]) for default in (1, 2)],
}


@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES)
def test_machine_code_follows_from_fields_and_values_of_classes(classes):
    for source in ("def f(x): return constant", "def f(x): return near.constant.a"):
        first, second = [contents_of(source, made) for made in classes]
        assert first != second
    first, second = [contents_of("def f(x): return constant", made(3, 4)) for made in classes]
    assert first != second


def plain_function(x):
    raise NotImplementedError


OVERLOADS = {
    "a function": (plain_function, "def f(x): return constant(x)"),
    "a function of a module": (plain_function, "def f(x): return near.constant(x)"),
    "a function of NumPy": (np.isclose, "import numpy\ndef f(x): return numpy.isclose(x)"),
    "a built-in function": (breakpoint, "def f(x): return breakpoint(x)"),
    "a method": ((types.Array, "increased"), "def f(x): return x.increased()"),
}


@compiled_only
@pytest.mark.parametrize(("target", "source"), OVERLOADS.values(), ids=OVERLOADS)
def test_machine_code_follows_from_overloads(target, source, monkeypatch):
    for registered in ("functions", "attributes", "globals"):
        monkeypatch.setattr(builtin_registry, registered, list(getattr(builtin_registry, registered)))
    monkeypatch.setattr(cache, "_overloads", cache._overloads.__wrapped__)  # registries only grow elsewhere
    found = [contents_of(source, plain_function)]
    for step in (1, 2):
        implementation = eval(f"lambda x: lambda x: x + {step}", {"__name__": "made_up"})
        register = overload_method(*target) if isinstance(target, tuple) else overload(target)
        register(implementation)
        found.append(contents_of(source, plain_function))
    assert len(set(found)) == 3


@pytest.mark.parametrize(
    "sources",
    [
        ("def f(x): return x + 1", "def f(x): return x + 2", "def f(x): return x - 1"),
        ("def f(x, y=1): return x + y", "def f(x, y=2): return x + y", "def f(x, y=(2, 3)): return x + y"),
        ("def f(x, *, y=1): return x", "def f(x, *, y=2): return x", "def f(x, *, z=1): return x"),
        ("def f(x, a, b): return a", "def f(x, b, a): return a"),
        ("def f(x): return [x for _ in (1,)]", "def f(x): return [x for _ in (2,)]"),
        (
            "@kernel\ndef f(x): return x",
            "@kernel(inline=True)\ndef f(x): return x",
            "@kernel(allocates=True)\ndef f(x): return x",
        ),
    ],
)
@compiled_only
def test_machine_code_follows_from_the_function(sources: tuple[str, ...]) -> None:
    found = [contents_of(source, 1) for source in sources]
    assert len(set(found)) == len(sources)
    assert found == [contents_of(f"\n\n{source}", 1) for source in sources]


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): return constant",
        "def f(x): return near.constant",
        "def f(x): return g(x)",
        "def f(x):\n    def h(): return g(x)\n    return h",
        "def f(x, y=g): return y(x)",
        "def made(y):\n    def f(x): return y\n    return f\nf = made(constant)",
    ],
)
def test_machine_code_follows_from_what_the_function_uses(source):
    values = (1, 2, 1.0, True, "1", (1, 2), [1, 2], Pair(1, 2), np.arange(2), np.arange(2.0), np.arange(3))
    found = [contents_of(source, value) for value in values]
    assert len(set(found)) == len(values)
    assert found == [contents_of(source, value) for value in values]


NEWER = "import numba; numba.__version__ = '0.100.0rc1'\n"
"""Gives Numba a version with which kernels are not linked."""


@pytest.mark.slow
@pytest.mark.parametrize("numba", ["", NEWER], ids=["linking", "without"])
def test_machine_code_is_kept_until_a_value_it_uses_has_changed(package, numba):
    """Also that of kernels in other packages, which call those of this one."""
    rules = (
        "from patchwork_env.near import step\n"
        "from own_game.constants import FACTOR\n"
        "@kernel\ndef scaled(x):\n    return FACTOR * step(x)\n"
    )
    own = write_modules(package.parent / "own_game", constants="", rules=rules)
    code = numba + (
        "from own_game.rules import scaled; print(scaled(0), sum(scaled.stats.cache_hits.values()))"
    )
    for file, text, result in (
        (own, "FACTOR = 3\n", "3 0"),
        (own, "# a comment\nFACTOR, OTHER = 3, 2\n", "3 1"),
        (own, "FACTOR = 10\n", "10 0"),
        (package, "STEP = 5\n", "50 0"),
        (package, "STEP = 5\n", "50 1"),
    ):
        (file / "constants.py").write_text(text)
        assert printed(package, code) == f"{result}\n"


CHAMPION = (
    "from patchwork_env.agents.patchwork.champion import search\n"
    "for name, value in sorted(vars(search).items()):\n"
    "    if hasattr(value, 'targetoptions'):\n"
    "        print(name, sorted(value.targetoptions.items()))\n"
)


@compiled_only
def test_without_linking_the_kernels_of_the_champion_have_the_same_options():
    """Without them, they would count references, run half as fast, and take longer to compile."""
    found, same = [printed(PROJECT / "patchwork_env", code) for code in (CHAMPION, NEWER + CHAMPION)]
    assert found == same
    assert found.count("('_nrt', False), ('boundscheck', None), ('error_model', 'numpy'), ") > 10
    assert found.count("('no_cfunc_wrapper', True), ('nogil', True)") == len(found.splitlines())


@pytest.fixture
def without_linking(monkeypatch):
    """Compiles kernels with Numba's own decorator and keeps none on disk."""
    monkeypatch.setattr(compile, "IS_LINKING", False)
    monkeypatch.setattr(compile, "IS_KEPT", False)


@compiled_only
def test_without_linking_references_are_not_counted(without_linking):
    with pytest.raises(NumbaError, match="NRT required"):
        kernel(_doubled.py_func)(np.arange(3))
    assert kernel(allocates=True)(_tripled.py_func)(np.arange(3)).tolist() == [0, 3, 6]


@compiled_only
def test_options_that_numba_refuses_are_left_out_with_one_line(without_linking, monkeypatch, caplog):
    def refusing(*arguments, **options):
        return njit(*arguments, **{**options, "no_such_option": 1} if "_nrt" in options else options)

    monkeypatch.setattr(compile, "njit", refusing)
    monkeypatch.setattr(compile, "_accepts_options", functools.cache(compile._accepts_options.__wrapped__))
    assert [kernel(_sum_of_squares.py_func)(np.arange(3)) for _ in range(2)] == [5, 5]
    (message,) = caplog.messages
    assert message.startswith("kernels run more slowly: ")
    assert "no_such_option" in message


TWO_STEPS = (
    "from patchwork_env.core import compile\n"
    "from patchwork_env.rules import two_steps\n"
    "print(compile.IS_LINKING, two_steps(0), sum(two_steps.stats.cache_hits.values()))"
)


NO_FOLDER = f"import os; os.environ['NUMBA_CACHE_DIR'] = {__file__!r}\n"
NO_HOME = "import os, pwd; os.environ.pop('HOME', None); pwd.getpwuid = {}.__getitem__\n"


@pytest.mark.slow
@pytest.mark.parametrize("change", [NO_FOLDER, NO_HOME], ids=["no folder", "no home"])
def test_without_a_writable_folder_one_line_names_the_remedy(package, change):
    if change == NO_HOME:
        pytest.importorskip("pwd", reason="users without a home")
        for folder in (package, package / "core"):
            shutil.rmtree(folder / "__pycache__", ignore_errors=True)
            (folder / "__pycache__").write_text("not a folder")
    before = {path.name for path in package.parent.iterdir()}
    logged = "import logging, sys; logging.basicConfig(stream=sys.stdout, format='%(message)s')\n"
    line, result = printed(package, logged + change + TWO_STEPS).splitlines()
    assert result == "True 2 0"
    assert line.endswith("set NUMBA_CACHE_DIR to a folder that you alone can write to")
    assert {path.name for path in package.parent.iterdir()} == before
    assert not list(package.rglob("*.nbc"))


@pytest.mark.slow
def test_machine_code_follows_from_the_modules_that_link_it(package):
    assert [printed(package, TWO_STEPS) for _ in range(2)] == ["True 2 0\n", "True 2 1\n"]
    with (package / "core" / "linking.py").open("a") as file:
        file.write("# changed\n")
    assert printed(package, TWO_STEPS) == "True 2 0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for the machine code of a test; no warning has been logged yet."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_WARNINGS", itertools.count())
    return tmp_path


def started():
    """The result of a kernel as if in a new process, and whether its machine code was on disk."""
    quotient = kernel(_quotient.py_func)
    result, stats = quotient(1.0, 4.0), quotient.stats
    assert sum(stats.cache_hits.values()) + sum(stats.cache_misses.values()) == 1
    return result, bool(stats.cache_hits)


def kept(folder):
    """The one file of machine code."""
    (file,) = folder.rglob("*.nbc")
    return file


def replace_by_another_kernel(file):
    """Replace the file by the valid code of another kernel."""
    shutil.rmtree(file.parent)
    assert kernel(_sum_of_squares.py_func)(np.arange(3)) == 5
    (other,) = file.parent.glob("*_sum*.nbc")
    other.rename(file)


def flip(file, position):
    contents = bytearray(file.read_bytes())
    contents[position] ^= 1
    file.write_bytes(contents)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: os.truncate(file, file.stat().st_size - 1),
    "a bit of the digest": lambda file: flip(file, 5),
    "a bit of the code": lambda file: flip(file, file.stat().st_size // 2),
    "another kernel": replace_by_another_kernel,
}


@compiled_only
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_machine_code_is_never_read_and_is_replaced(damage, folder):
    assert started() == (0.25, False)
    file = kept(folder)
    damage(file)
    assert [started(), started()] == [(0.25, False), (0.25, True)]


@compiled_only
def test_with_a_full_disk_nothing_is_kept_until_there_is_room(folder, caplog):
    resource = pytest.importorskip("resource", reason="limits the sizes of files")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        assert [(started(), len(caplog.messages)) for _ in range(2)] == [((0.25, False), 1)] * 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not [path for path in folder.rglob("*") if path.is_file()]
    assert [started(), started()] == [(0.25, False), (0.25, True)]


@compiled_only
@pytest.mark.skipif(os.name == "nt", reason="modes of files say nothing there")
def test_machine_code_that_others_can_write_is_not_read(folder, caplog):
    assert started() == (0.25, False)
    file = kept(folder)
    assert file.stat().st_mode & 0o777 == 0o644  # other users can read it, too
    file.chmod(0o664)
    assert [started(), started()] == [(0.25, False), (0.25, True)]
    assert not caplog.messages
    file.parent.chmod(0o777)
    assert [started(), started()] == [(0.25, False)] * 2
    (message,) = caplog.messages
    assert f"other users can write to {file.parent}" in message


@pytest.mark.skipif(os.name == "nt", reason="files have no owner there")
@pytest.mark.parametrize(
    ("owner", "mode", "safe"),
    [(1000, 0o644, True), (0, 0o755, True), (1001, 0o644, False), (1000, 0o646, False), (0, 0o664, False)],
)
def test_machine_code_of_the_user_and_of_root_is_safe(owner, mode, safe, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cache._is_safe(os.stat_result((mode, 0, 0, 1, owner, 0, 0, 0, 0, 0))) == safe


@compiled_only
def test_code_with_checked_bounds_is_kept_apart(folder, monkeypatch):
    started()
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    assert started() == (0.25, False)
    monkeypatch.setattr(config, "BOUNDSCHECK", None)
    assert started() == (0.25, True)


@pytest.mark.parametrize("constant", [Plain, Plain()])
def test_values_whose_changes_cannot_be_detected_are_errors(constant):
    with pytest.raises(ValueError, match="whose changes cannot be detected"):
        contents_of("def f(x): return constant", constant)


@pytest.mark.slow
def test_a_template_is_compiled_and_cached_for_every_game_of_its_own(package):
    loops = (
        "game = None\n"
        "@template\ndef twice(x):\n    return game.step(game.step(x))\n"
        "@template\ndef four_times(x):\n    return twice(twice(x)) + game.shape[1]\n"
    )
    write_modules(package, loops=loops, other="@kernel\ndef step(x):\n    return 2 * x\n")
    code = (
        "from types import ModuleType\n"
        "from patchwork_env import loops, near, other\n"
        "from patchwork_env.core.compile import specialize\n"
        "for module in (near, other):\n"
        "    game = ModuleType(module.__name__.rpartition('.')[2])\n"
        "    game.step, game.shape = module.step, (7, 0)\n"
        "    kernel = specialize(loops.four_times, game)\n"
        "    print(kernel(3), sum(kernel.stats.cache_hits.values()))\n"
    )
    assert printed(package, code).split() == ["7", "0", "48", "0"]
    assert printed(package, code).split() == ["7", "1", "48", "1"]
    (package / "constants.py").write_text("STEP = 2\n")
    assert printed(package, code).split() == ["11", "0", "48", "1"]

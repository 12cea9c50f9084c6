"""Mutation tests: plants small faults at random, and lists those that no test notices.

python -m tools.mutants                                       # or: make mutants
python -m tools.mutants --folder patchwork_env/search --count 20 --seed 3

A mutant is the package with one expression or statement changed. The tests of its module run first, then
those of its folder, then all others that import the module. The mutant is caught when a test fails or the
time is over. Mutants that survive are printed: most show a missing test, some change nothing observable.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).parents[1]
FOLDERS = (
    "patchwork_env/core",
    "patchwork_env/patchwork",
    "patchwork_env/nmbr9",
    "patchwork_env/envs",
    "patchwork_env/search",
    "patchwork_env/agents",
    "patchwork_env/agents/patchwork",
    "patchwork_env/agents/nmbr9",
    "patchwork_env/learning/algorithms",
    "patchwork_env/learning/evaluation",
    "patchwork_env/learning/runs",
    "patchwork_env/learning/config",
    "patchwork_env/learning/commands",
    "patchwork_env/learning/reports",
    "patchwork_env/integrations/text",
    "patchwork_env/integrations/sb3",
    "patchwork_env/play",
    "patchwork_env/protocol",
    "patchwork_env/service",
)
"""The folders to mutate, each with an equal share. Pictures are left out, because people check them."""
_ALWAYS = ("tests/test_same_seeds.py", "tests/test_hidden_information.py")
"""The tests that run last for all modules."""
_SECONDS = 300
"""The time limit of the tests of a mutant, in seconds."""

_PAIRS = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *((ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.LShift, ast.RShift)),
    (ast.BitAnd, ast.BitOr),
)
_OPERATORS: dict[type[ast.AST], type[Any]] = {
    one: other for pair in _PAIRS for one, other in (pair, pair[::-1])
} | {ast.Div: ast.Mult}
"""The operator that replaces another one in a mutant."""
_NAMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "floor": "ceil"}
_NAMES |= {other: one for one, other in _NAMES.items()}
"""The function that replaces another one in a mutant."""


class Mutant(NamedTuple):
    """A change: the folder that it was drawn for, file and line, and the expression before and after."""

    folder: str
    file: str
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before}  ->  {self.after}"


# --- changes of code ----------------------------------------------------------------------------------------


def mutants_of(file: Path, folder: str) -> Iterator[tuple[Mutant, ast.Module]]:
    """All mutants of a file, each with the module, which is changed in place until the next one."""
    name, tree = file.relative_to(PROJECT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))
    for node in _nodes(tree):
        text = _text(node)
        for change in _changes(node):
            before = {attribute: getattr(node, attribute, None) for attribute in change}
            _update(node, change)
            yield Mutant(folder, name, node.lineno, text, _text(node)), tree
            _update(node, before)


def module_of(mutant: Mutant) -> str:
    """The source of the changed module of a mutant."""
    for same, tree in mutants_of(PROJECT / mutant.file, mutant.folder):
        if same == mutant:
            return ast.unparse(tree)
    raise ValueError(f"there is no mutant {mutant}")


def _update(node: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(node, name, value)


def _nodes(tree: ast.Module) -> Iterator[Any]:
    """The expressions and statements within functions, without those of error messages."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    waiting: list[ast.AST] = [statement for function in functions for statement in function.body]
    seen = set()
    while waiting:
        node = waiting.pop(0)
        if node not in seen and not isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef):
            seen.add(node)
            yield node
            waiting += [each for each in ast.iter_child_nodes(node) if hasattr(each, "lineno")]


def _text(node: Any) -> str:
    return ast.unparse(getattr(node, "test", node)).partition("\n")[0]


def _changes(node: Any) -> Iterator[dict[str, Any]]:
    """The attributes that replace those of a node in its mutants."""
    match node:
        case ast.Compare(ops=[first, *others]) if type(first) in _OPERATORS:
            yield {"ops": [_OPERATORS[type(first)](), *others]}
        case ast.BinOp(left=left, op=op) if type(op) in _OPERATORS and not isinstance(left, ast.Constant):
            yield {"op": _OPERATORS[type(op)]()}
            if isinstance(op, ast.Add | ast.Sub):  # drops the second term
                yield {"right": ast.Constant(0)}
        case ast.AugAssign(target=target, op=op) if type(op) in _OPERATORS:
            yield {"op": _OPERATORS[type(op)]()}
            yield {"__class__": ast.Assign, "targets": [target]}  # overwrites the sum
        case ast.BoolOp(op=op):
            yield {"op": _OPERATORS[type(op)]()}
        case ast.UnaryOp(op=ast.USub()):
            yield {"op": ast.UAdd()}
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield {"test": ast.UnaryOp(ast.Not(), test)}
        case ast.Constant(value=bool(value)):
            yield {"value": not value}
        case ast.Constant(value=int(value) | float(value)):
            yield {"value": value + 1}
            yield {"value": value - 1}
        case ast.Expr(value=ast.Call()):  # skips the call
            yield {"value": ast.Constant(None)}
        case ast.Call(func=func, args=arguments, keywords=keywords):
            yield from _changed_call(func, arguments, keywords)


def _changed_call(func: Any, arguments: list[Any], keywords: list[Any]) -> Iterator[dict[str, Any]]:
    if isinstance(func, ast.Name) and func.id in _NAMES:
        yield {"func": ast.Name(_NAMES[func.id])}
    if isinstance(func, ast.Attribute) and func.attr in _NAMES:
        yield {"func": ast.Attribute(func.value, _NAMES[func.attr])}
    if len(arguments) > 1 and not any(isinstance(argument, ast.Starred) for argument in arguments):
        *others, one, other = arguments
        yield {"args": [*others, other, one]}
    if keywords and keywords[-1].arg != "strict":  # ignores the last keyword
        yield {"keywords": keywords[:-1]}


def draw(folders: tuple[str, ...], count: int, seed: int) -> list[Mutant]:
    """At most ``count`` mutants of each folder, from all folders by turns."""
    pools = []
    for folder in folders:
        files = [
            file
            for file in sorted((PROJECT / folder).rglob("*.py"))
            if "render" not in (file.stem, file.parent.name)
        ]
        pools.append([mutant for file in files for mutant, _ in mutants_of(file, folder)])
        random.Random(f"{seed} {folder}").shuffle(pools[-1])
    return [pool[number] for number in range(count) for pool in pools if number < len(pool)]


# --- the tests of a mutant ----------------------------------------------------------------------------------


def tests_of(file: str) -> list[str]:
    """The files with tests of a module, the nearest first: its own, its folder's, its users', those above."""
    module = Path(file).with_suffix("")
    name = ".".join(module.parts).removesuffix(".__init__")
    folder = Path("tests", *module.parts[1:-1])

    def distance(test: Path) -> int:
        if test.parent == folder and test.stem.startswith(f"test_{module.name}"):
            return 0
        imports = name in _imports(test)
        if folder in test.parents:
            return 1 if imports else 2
        return 3 if imports else 4 if test.parent in folder.parents and test.parent != Path("tests") else 5

    tests = [test.relative_to(PROJECT) for test in sorted((PROJECT / "tests").rglob("test_*.py"))]
    near = sorted((test for test in tests if distance(test) < 5), key=distance)
    return [*(str(test) for test in near if str(test) not in _ALWAYS), *_ALWAYS]


@cache
def _imports(test: Path) -> frozenset[str]:
    """The modules and names that a file imports, also through helpers of tests."""
    names = set()
    for node in ast.walk(ast.parse((PROJECT / test).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    helpers = [Path(*name.split(".")).with_suffix(".py") for name in names if name.startswith("tests.")]
    return frozenset(names.union(*(_imports(helper) for helper in helpers if (PROJECT / helper).is_file())))


def is_caught(mutant: Mutant, clean: Path) -> bool:
    """Whether a test fails in a copy of the project with the changed module."""
    options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *tests_of(mutant.file)]
    with tempfile.TemporaryDirectory(dir=clean.parent, ignore_cleanup_errors=True) as base:
        # Files are hard links, machine code too, so that only the changed module is compiled.
        folder = Path(shutil.copytree(clean, Path(base, "copy"), copy_function=os.link))
        (folder / mutant.file).unlink()
        (folder / mutant.file).write_text(module_of(mutant), encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(folder), "PATCHWORK_ENV_QUIET": "1"}
        with subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as tests:
            try:
                return tests.wait(_SECONDS) != 0
            except subprocess.TimeoutExpired:
                os.killpg(tests.pid, signal.SIGKILL)  # with the processes that tests have started
                return True


def run(mutants: list[Mutant], workers: int) -> dict[Mutant, bool]:
    """Whether each mutant is caught."""
    with tempfile.TemporaryDirectory() as base, ThreadPoolExecutor(workers) as threads:
        ignored = shutil.ignore_patterns(".git", ".venv*", "runs", "build", "dist", "_build")
        clean = Path(shutil.copytree(PROJECT, Path(base, "clean"), ignore=ignored))

        def judge(mutant: Mutant) -> bool:
            caught = is_caught(mutant, clean)
            print("caught  " if caught else "SURVIVED", mutant, flush=True)
            return caught

        return dict(zip(mutants, threads.map(judge, mutants), strict=True))


def main() -> None:
    """Tests mutants and prints those that survive."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--folder", nargs="+", default=FOLDERS, help="the folders to mutate (default: those that count)"
    )
    parser.add_argument("--count", type=int, default=40, help="the number of mutants of each folder")
    parser.add_argument("--seed", type=int, default=0, help="the seed of their choice")
    parser.add_argument("--workers", type=int, default=2, help="the number tested at the same time")
    options = parser.parse_args()
    caught = run(draw(tuple(options.folder), options.count, options.seed), options.workers)
    for folder, number in Counter(mutant.folder for mutant in caught).items():
        found = sum(was for mutant, was in caught.items() if mutant.folder == folder)
        print(f"{folder}: {found} of {number} mutants were caught")
    print(*(f"SURVIVED {mutant}" for mutant, was in caught.items() if not was), sep="\n")


if __name__ == "__main__":
    main()

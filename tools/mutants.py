"""Whether the tests find small faults: a hundred seeded mutants of the code that results rest on.

python -m tools.mutants                              # or: make mutants
python -m tools.mutants --count 20 --seed 3 --json mutants.json
python -m tools.mutants --again mutants.json         # fails if a mutant survives that was caught before

A mutant is the package with one operator, constant or condition changed. It is caught if a test of its part
fails, or takes too long. Those that survive are printed: most point at a test that is missing, some change
nothing that can be seen.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

PROJECT = Path(__file__).parents[1]
TESTS = {
    "patchwork_env/patchwork/engine.py": "tests/patchwork",
    "patchwork_env/nmbr9/engine.py": "tests/nmbr9",
    "patchwork_env/envs": "tests/envs",
    "patchwork_env/learning/algorithms/common/advantages.py": "tests/learning/algorithms/common",
    "patchwork_env/learning/evaluation": "tests/learning/evaluation",
}
"""What is mutated, a file or a folder, and the tests that should notice. Each has an even share."""
_COPIED = ("patchwork_env", "tests", "configs", "training", "pyproject.toml", "README.md")
_SECONDS = 600
"""How long the tests of a mutant may take."""

_PAIRS = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *((ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.LShift, ast.RShift)),
    (ast.BitAnd, ast.BitOr),
)
_OTHER: dict[type[ast.AST], type[Any]] = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
"""The operator that stands in a mutant instead of another one."""


class Mutant(NamedTuple):
    """A change: the file, the line of the expression, and the expression before and after."""

    file: str
    line: int
    before: str
    after: str
    tests: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before}  ->  {self.after}"


def mutants_of(file: Path, tests: str) -> Iterator[tuple[Mutant, str]]:
    """All mutants of a file, each with the text of the whole module."""
    name, tree = file.relative_to(PROJECT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        for node in [node for statement in function.body for node in ast.walk(statement)]:
            unchanged, before = vars(node).copy(), _text(node)
            if _mutate(node):
                yield Mutant(name, node.lineno, before, _text(node), tests), ast.unparse(tree)  # type: ignore[attr-defined]
                vars(node).update(unchanged)


def _text(node: Any) -> str:
    return ast.unparse(getattr(node, "test", node))


def _mutate(node: Any) -> bool:
    """Changes a node in place; returns whether there is a way to change it."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER:
        node.ops = [_OTHER[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in _OTHER:
        node.op = _OTHER[type(node.op)]()
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        return False
    return True


def draw(count: int, seed: int) -> list[tuple[Mutant, str]]:
    """Mutants from all parts by turns, with the texts of their modules."""
    pools = []
    for place, tests in TESTS.items():
        path = PROJECT / place
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        pools.append([mutant for file in files for mutant in mutants_of(file, tests)])
        random.Random(f"{seed} {place}").shuffle(pools[-1])
    return [pool[number] for number in range(max(map(len, pools))) for pool in pools if number < len(pool)][
        :count
    ]


def found_again(before: dict[Mutant, bool]) -> tuple[list[tuple[Mutant, str]], dict[Mutant, bool]]:
    """Earlier mutants where they stand now, with their modules, and whether they were caught."""
    now, drawn, results = draw(10**9, 0), [], {}
    for mutant, caught in before.items():
        same = [entry for entry in now if entry[0]._replace(line=mutant.line) == mutant]
        if same:
            nearest = min(same, key=lambda entry: abs(entry[0].line - mutant.line))
            drawn.append(nearest)
            results[nearest[0]] = caught
        else:
            print(f"is gone: {mutant}")
    return drawn, results


def is_caught(mutant: Mutant, module: str, folder: Path) -> bool:
    """Whether a test fails in a copy of the project in which the mutant stands for its module."""
    file = folder / mutant.file
    original = file.read_text(encoding="utf-8")
    file.write_text(module, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        mutant.tests,
    ]
    environment = os.environ | {"PYTHONPATH": str(folder), "PATCHWORK_ENV_QUIET": "1"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(original, encoding="utf-8")
    return done.returncode != 0


def run(drawn: list[tuple[Mutant, str]], workers: int) -> dict[Mutant, bool]:
    """Which mutants are caught; each worker has a copy of the project of its own."""
    with tempfile.TemporaryDirectory() as base, ThreadPoolExecutor(workers) as threads:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            folder = Path(base, str(number))
            folder.mkdir()
            for name in _COPIED:
                source = PROJECT / name
                (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
            free.put(folder)

        def judge(entry: tuple[Mutant, str]) -> tuple[Mutant, bool]:
            folder = free.get()
            try:
                caught = is_caught(*entry, folder)
            finally:
                free.put(folder)
            print("caught  " if caught else "SURVIVED", entry[0], flush=True)
            return entry[0], caught

        return dict(threads.map(judge, drawn))


def main() -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="the seed by which they are drawn")
    parser.add_argument("--workers", type=int, default=2, help="how many are tested side by side")
    parser.add_argument("--json", type=Path, help="where to write which were caught")
    parser.add_argument("--again", type=Path, help="a file of --json, whose mutants are tested again")
    options = parser.parse_args()
    before: dict[Mutant, bool] = {}
    if options.again:
        before = {Mutant(*words): caught for words, caught in json.loads(options.again.read_text())}
        drawn, before = found_again(before)
    else:
        drawn = draw(options.count, options.seed)
    caught = run(drawn, options.workers)
    if options.json:
        options.json.write_text(json.dumps(list(caught.items()), indent=1))
    print(f"{sum(caught.values())} of {len(caught)} mutants were caught")
    lost = [mutant for mutant, was_caught in before.items() if was_caught and not caught[mutant]]
    for mutant in lost:
        print(f"was caught before, and is not any more: {mutant}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

"""Examples of the documents and docstrings with libraries that `make test` does without.

They run where the libraries are installed: ``make test-libraries`` and ``make test-older``.
"""

from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from tests.test_documents import (
    WITH_EXAMPLES,
    examples_as_parameters,
    libraries,
    library_of,
    run_example,
    run_examples_of_docstrings,
)

OLDEST = {"mcp": "2.3"}
"""The oldest versions that examples work with, where an environment has older ones: OpenEnv's has mcp 1."""


@pytest.mark.parametrize(("name", "line", "code"), examples_as_parameters(with_libraries=True))
def test_examples_run(
    name: str, line: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in sorted(libraries(code)):
        pytest.importorskip(library)
        if library in OLDEST and Version(version(library)) < Version(OLDEST[library]):
            pytest.skip(f"needs {library} {OLDEST[library]}")
    monkeypatch.chdir(tmp_path)  # for what examples write
    run_example(name, line, code)


@pytest.mark.parametrize("module", [module for module in WITH_EXAMPLES if library_of(module)])
def test_examples_of_docstrings_run(module: str) -> None:
    pytest.importorskip(str(library_of(module)))
    run_examples_of_docstrings(module)

"""Ratings with fewer draws, so that tests are quick, and modules with agents."""

import pytest

from patchwork_env.learning.evaluation import ratings


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    monkeypatch.setattr(ratings, "DRAWS", 400)


@pytest.fixture
def module(request, tmp_path, monkeypatch):
    """The name of a module that holds ``MODULE`` of the file of tests."""
    name = f"agents_of_{request.path.stem}"
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / f"{name}.py").write_text(request.module.MODULE)
    monkeypatch.syspath_prepend(tmp_path / "modules")
    return name

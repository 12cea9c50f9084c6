"""A run of the configuration that a module of tests calls TINY."""

from __future__ import annotations

import pytest

from patchwork_env.learning.commands import train


@pytest.fixture(scope="module")
def config(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(request.module.TINY)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory, config):
    run = tmp_path_factory.mktemp("runs") / "tiny"
    assert train.main(["--config", str(config), "--run-dir", str(run)]) == 0
    return run

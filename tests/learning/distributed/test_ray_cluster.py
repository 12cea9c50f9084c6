"""Connections to Ray clusters.

Runs where Ray is installed: ``make test-older``.
"""

import os
import signal

import pytest

pytest.importorskip("ray")

import ray

from patchwork_env.learning.distributed import connected
from patchwork_env.learning.system import Interruption, signals_interrupt, stop_if_asked

pytestmark = pytest.mark.older


def test_a_local_cluster_has_a_processor_for_each_worker_and_ends_with_the_connection():
    with connected("local", 2) as connection:
        assert connection.cluster_resources()["CPU"] == 2
    assert not ray.is_initialized()


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:1", "127.0.0.1:66000", "127.0.0.1:ray"])
def test_an_address_without_a_cluster_is_named(monkeypatch, address):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with (
        pytest.raises(ConnectionError, match=rf"the Ray cluster '{address}' cannot be used"),
        connected(address, 1),
    ):
        pass


def test_signals_stay_with_the_program():
    """Ray replaces the handler of SIGTERM when it starts."""
    with signals_interrupt():
        before = signal.getsignal(signal.SIGTERM)
        with connected("local", 1):
            assert signal.getsignal(signal.SIGTERM) is before
            os.kill(os.getpid(), signal.SIGTERM)
            with pytest.raises(Interruption):
                stop_if_asked()


def test_a_cluster_of_another_ray_is_named(monkeypatch):
    def refuse(**_options):
        raise RuntimeError("Version mismatch: the cluster was started with Ray 1.0")

    monkeypatch.setattr(ray, "init", refuse)
    with (
        pytest.raises(ConnectionError, match=r"'auto' cannot be used: Version mismatch"),
        connected("auto", 1),
    ):
        pass

"""The example that plays in words: it finds its way by the texts of its own server."""

import pytest

pytest.importorskip("openenv")

pytestmark = pytest.mark.older


def test_plays_patchwork(start):
    said = start("openenv_client.py", "--opponent", "uct:simulations=2")  # which is not listed
    assert "You played " in said
    assert "The game is over, won by you" in said
    assert said.endswith("rewards 1\n")


def test_plays_nmbr9(start):
    said = start("openenv_client.py", "--game", "nmbr9")
    assert "You play alone. The game is over; you scored " in said
    assert int(said.rpartition("rewards ")[2]) > 10

"""The example that plays in words: it finds its way by the texts of its own server."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("openenv")

pytestmark = pytest.mark.older

PATH = Path(__file__).parents[2] / "examples" / "openenv_client.py"


def test_plays_patchwork(start) -> None:
    said = start("openenv_client.py", "--opponent", "random")
    assert "You played " in said
    assert "The game is over, won by you" in said
    assert said.endswith("rewards 1\n")


def test_plays_nmbr9(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["openenv_client.py", "--game", "nmbr9"])
    runpy.run_path(str(PATH), run_name="__main__")
    said = capsys.readouterr().out
    assert "You play alone. The game is over; you scored " in said
    assert int(said.rpartition("rewards ")[2]) > 10

"""The example that analyses a game by an engine in a process of its own."""

import sys

import pytest

from examples import engine_client
from patchwork_env import agents
from patchwork_env.patchwork import Game


@pytest.mark.slow
def test_it_lists_the_moves_that_cost_most(monkeypatch, capsys, tmp_path):
    game, agent = Game(seed=7), agents.load("random", seed=1)
    for _ in range(6):
        game.play(agent.act(game))
    file = tmp_path / "game.txt"
    file.write_text(game.notation())
    monkeypatch.setattr(sys, "argv", ["engine_client.py", str(file), "--nodes", "20", "--most", "2"])
    engine_client.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("move ") and "better was" in line for line in lines)
    monkeypatch.setattr(sys, "argv", ["engine_client.py", str(file), "--engine", "false"])
    with pytest.raises(SystemExit):
        engine_client.main()
    assert "program 'false' ended with exit code 1" in capsys.readouterr().err

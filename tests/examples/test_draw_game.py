"""The example that draws a game: the files it writes and its answers to bad arguments."""

import sys

import pytest

pytest.importorskip("PIL")

from examples import draw_game

SMALL = ["--width", "200", "--gif-width", "100"]


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs the example with arguments and returns the folder it was told to write to."""

    def main(*arguments):
        monkeypatch.setattr(sys, "argv", ["draw_game.py", "--out", str(tmp_path / "out"), *arguments])
        draw_game.main()
        return tmp_path / "out"

    return main


def test_writes_pictures_and_animation(run, capsys):
    from PIL import Image

    out = run("--seed", "3", "--players", "random", "random", *SMALL)
    names = {"final.png", "final.svg", "game.gif", "table.png", "table.svg"}
    assert {path.name for path in out.iterdir()} == names
    with Image.open(out / "table.png") as picture, Image.open(out / "game.gif") as animation:
        assert picture.size == (200, 127)
        assert animation.n_frames > 20
    assert "wins" in capsys.readouterr().out


def test_draws_nmbr9(run, capsys, monkeypatch):
    from PIL import Image

    load = draw_game.agents.load  # no agent gets the seed of the deck
    monkeypatch.setattr(draw_game.agents, "load", lambda spec, seed: None if seed == 3 else load(spec, seed))
    out = run("--game", "nmbr9", "--seed", "3", "--players", "greedy", "random", *SMALL)
    with Image.open(out / "final.png") as picture, Image.open(out / "game.gif") as animation:
        assert picture.width == 200
        assert animation.n_frames > 30
    assert capsys.readouterr().out.startswith("NMBR 9: over")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", "two"], "a seed is a whole number"),
        (["--game", "nmbr9", "--players", *["random"] * 5], "expected 1 or 2 or 3 or 4 arguments"),
        (["--game", "nmbr9", "--players", "mcts"], "agent 'mcts' plays patchwork, not nmbr9"),
        (["--players", "random", "random", "--width", "5"], "width is 5; allowed are"),
    ],
)
def test_bad_arguments_are_named(run, capsys, arguments, message):
    with pytest.raises(SystemExit) as exit_:
        run(*arguments)
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err

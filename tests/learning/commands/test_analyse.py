"""The command that analyses a position."""

import io
import json

import pytest

from patchwork_env import cli, nmbr9, patchwork
from patchwork_env.agents.analysis import win_text

QUICK = ("--seconds", "0.01")
NO_THREADS = "'threads' of agent 'champion' is '0'; it must be an integer of 1 to"


def analyse(capsys, *arguments):
    """The exit code, and what was printed on stdout and stderr."""
    code = cli.main(["analyse", *arguments])
    return code, *capsys.readouterr()


def test_a_game_is_a_file_a_text_or_standard_input(tmp_path, monkeypatch, capsys):
    """All give the same analysis, which is that of the game's last position."""
    game, path = patchwork.Game(seed=7), tmp_path / "game.txt"
    game.play(int(game.legal_actions()[3]))
    path.write_text(game.notation())
    monkeypatch.setattr("sys.stdin", io.StringIO(game.notation()))
    for given in ([str(path)], [game.notation()], [game.position_text()], []):
        code, printed, _ = analyse(capsys, *given, *QUICK, "--moves", "2", "--threads", "2", "--json", "-")
        found = json.loads(printed)
        assert (code, printed) == (0, json.dumps(found, indent=2) + "\n")
        assert (found["agent"], found["player"]) == ("champion:seconds=0.01,threads=2", 1)
        assert patchwork.Game.from_notation(found["notation"]).position_text() == game.position_text()
        assert len(found["lines"]) == 2
        assert found["win"] == found["lines"][0]["win"]


@pytest.mark.parametrize("mover", [0, 1])
def test_the_table_is_from_the_side_of_the_player_to_move(mover, tmp_path, capsys):
    path, game = tmp_path / "analysis.json", patchwork.Game(seed=7, first_player=mover)
    code, printed, _ = analyse(capsys, game.notation(), *QUICK, "--json", str(path))
    lines = json.loads(path.read_text())["lines"]
    assert path.read_text() == json.dumps(json.loads(path.read_text()), indent=2) + "\n"
    head, *rows = printed.splitlines()[2:]
    assert code == 0
    assert printed.startswith(f"player {mover} to move")
    for row, line in zip(rows, lines, strict=True):
        word, win, margin, visits = row.split()[:4]
        assert row[0] != " " != row[head.index("line")]  # the first and the last column begin there
        assert (word, int(visits.replace(",", ""))) == (line["word"], line["visits"])
        assert row.split()[4:] == line["line"][:6] + ["..."] * (len(line["line"]) > 6)
        if line is lines[0]:
            sign = 1 if mover == 0 else -1
            assert win == win_text(line["win"] if mover == 0 else 1 - line["win"], exact=False)
            assert float(margin) == pytest.approx(sign * line["margin"], abs=0.051)
        else:
            assert (win, margin) == ("-", "-")  # the search is too short


def test_nmbr9_is_analysed_by_scores(capsys):
    game = nmbr9.Game(seed=7)
    for _ in range(3):
        game.play(int(game.legal_actions()[0]))
    _, printed, _ = analyse(capsys, game.notation(), *QUICK, "--moves", "3")
    head, *rows = printed.splitlines()[2:]
    assert head.split()[:4] == ["move", "score", "margin", "visits"]
    assert len(rows) == 3
    assert all(float(row.split()[1]) > 50 and row.split()[2] == "-" for row in rows)


def test_probabilities_of_searches_are_never_0_or_100_percent():
    shown = [win_text(win, exact=False) for win in (0.9999, 0.999, 0.001, 0.0001)]
    assert shown == [">99.9%", "99.9%", "0.1%", "<0.1%"]
    assert [win_text(win, exact=True) for win in (1.0, 0.0)] == ["100.0%", "0.0%"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.txt"], "there is no file none.txt; a game in notation begins with patchwork/1 or nmbr9/1"),
        (["odd.txt"], "odd.txt: the text begins with 'garbage'; a game in notation begins with patchwork/1"),
        (["over.txt"], "the game is over; there is no move to analyse"),
        (["game.txt", "--moves", "51"], "--moves is 51; allowed are 1 to 50"),
        (["game.txt", "--threads", "0"], NO_THREADS),
        (["game.txt", "--overwrite"], "--overwrite would have no effect: "),
        (["game.txt", "--json", "odd.txt"], "odd.txt exists already: give another --json"),
        (["game.txt", "--json", "none/a.json"], "there is no folder none for a.json"),
    ],
)
def test_errors(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    game = patchwork.Game(seed=7)
    (tmp_path / "game.txt").write_text(game.notation())
    (tmp_path / "odd.txt").write_text("garbage")
    while not game.is_over:
        game.play(int(game.legal_actions()[0]))
    (tmp_path / "over.txt").write_text(game.notation())
    code, printed, said = analyse(capsys, *arguments)
    assert (code, printed) == (2, "")
    assert message in said

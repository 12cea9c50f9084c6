"""The command that compiles games and agents."""

from patchwork_env import agents, cli, nmbr9
from patchwork_env.core import progress
from patchwork_env.core.progress import Compilation
from patchwork_env.learning.commands import compile as command


def test_everything_of_a_game_is_used_once_and_agents_without_their_library_left_out(monkeypatch, capsys):
    played, analysed, envs = [], [], {command.SelfPlayBatch, command.GameEnv, command.GameVectorEnv}

    def play(spec, opponent, number, game):
        played.append(f"{spec} against {opponent}, {number} games of {game}")
        raise ModuleNotFoundError(f"{spec} needs more", name="more")

    monkeypatch.setattr(agents, "names", lambda game: ("random", "greedy"))
    monkeypatch.setattr(agents.GreedyAgent, "deepen", lambda _, game: [analysed.append(game)], raising=False)
    assert cli.main(["compile", "--game", "nmbr9"]) == 0
    assert [type(game) for game in analysed] == [nmbr9.Game]
    assert "kernels compiled in " in capsys.readouterr().out
    monkeypatch.setattr(command, "play_matches", play)
    for kind in envs:
        monkeypatch.setattr(kind, "step", lambda env, actions: played.append(type(env)))
    assert command.main(["--game", "patchwork"]) == 0
    matches = {f"{spec} against random, 2 games of patchwork" for spec in ("random", "greedy")}
    assert {*played} == envs | matches


def test_what_was_compiled_is_counted(monkeypatch, capsys):
    compilation, games = Compilation(), []

    def use(game):
        games.append(game)
        compilation.begin(game)
        compilation.end()

    monkeypatch.setattr(command, "_use", use)
    monkeypatch.setattr(progress, "_is_terminal", lambda: True)
    assert command.main([]) == 0
    said, line = capsys.readouterr()
    assert said.removeprefix(f"{len(games)} kernels compiled in ")[1:] == " seconds; the others were ready\n"
    assert line.endswith(" \r")  # it is cleared
    assert {"patchwork", "nmbr9"} <= set(games)

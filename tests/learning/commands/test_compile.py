"""The command that compiles games and agents."""

from patchwork_env import agents, cli
from patchwork_env.core.progress import Compilation
from patchwork_env.learning.commands import compile as command


def test_everything_of_a_game_is_used_once_and_agents_without_their_library_left_out(monkeypatch, capsys):
    played = []

    def play(spec, *_, **__):
        played.append(spec)
        raise ModuleNotFoundError(f"{spec} needs more", name="more")

    monkeypatch.setattr(agents, "names", lambda game: ("random", "greedy"))
    assert cli.main(["compile", "--game", "nmbr9"]) == 0
    assert "kernels compiled in " in capsys.readouterr().out
    monkeypatch.setattr(command, "play_matches", play)
    assert command.main(["--game", "patchwork"]) == 0
    assert {"random", "greedy"} <= set(played)


def test_what_was_compiled_is_counted(monkeypatch, capsys):
    compilation, games = Compilation(), []

    def use(game):
        games.append(game)
        compilation.begin(game)
        compilation.end()

    monkeypatch.setattr(command, "_use", use)
    assert command.main([]) == 0
    assert capsys.readouterr().out.startswith(f"{len(games)} kernels compiled in ")
    assert {"patchwork", "nmbr9"} <= set(games)

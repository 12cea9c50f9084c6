"""Files that a released version stored: every later version reads them.

``tests/stored/VERSION`` holds a run that was stopped halfway, its exported result, a game of both games as
text and bytes, and what they held, in ``expected.json``. A release adds its folder, and keeps the others:

python -m tests.test_stored --record
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from patchwork_env import __version__, agents, nmbr9, patchwork
from patchwork_env.cli import main
from patchwork_env.learning.reports.comparison import compare
from patchwork_env.learning.reports.run_results import read_result
from tests.learning.same_runs import checkpoints_of, forget_the_end, resume_run, start_run

STORED = Path(__file__).parent / "stored"
FOLDERS = sorted(folder for folder in STORED.iterdir() if folder.is_dir())
GAMES = {"patchwork": patchwork.Game, "nmbr9": nmbr9.Game}
CONFIG = """
algorithm: ppo
total_steps: 64
seed: 5
threads: 1
checkpoint_every: 1
evaluation: {every: 1, games: 2, final_games: 4, opponents: [random, greedy]}
network: {width: 3, depth: 1, channels: 1}
ppo: {num_envs: 4, rollout_steps: 8, minibatch_size: 16, learning_rate: 0.1}
"""


def moves_of(checkpoint):
    """The actions of a policy in the positions of a game of greedy against itself."""
    policy, greedy, game, actions = agents.load(checkpoint), agents.load("greedy"), patchwork.Game(seed=7), []
    while not game.is_over:
        actions.append(int(policy.act(game)))
        game.play(greedy.act(game))
    return actions


def figures_of(result):
    """The figures of all evaluations of a run or an exported result."""
    return [
        [one.steps, match.opponent, match.games, match.seed, match.win_rate, match.score]
        for one in result.evaluations
        for match in one.matches
    ]


def comparison_of(result):
    """The means of a comparison of one result, by opponent."""
    comparison = compare([result])
    (group,) = comparison.groups
    return {name: comparison.mean(group, columns)[0] for name, columns in comparison.parts().items()}


def contents_of(folder):
    (checkpoint,) = checkpoints_of(folder / "run")
    (exported,) = folder.glob("*-seed5.json")
    return {
        "moves": moves_of(checkpoint),
        "evaluations": figures_of(read_result(folder / "run")),
        "result": figures_of(read_result(exported)),
        "comparison": comparison_of(read_result(exported)),
        "scores": {
            name: [list(map(int, game.scores())) for game in games_of(folder, name)] for name in GAMES
        },
    }


def games_of(folder, name):
    """A stored game, from its notation and from its bytes."""
    text = (folder / f"{name}.txt").read_text(encoding="utf-8")
    return GAMES[name].from_notation(text), GAMES[name].from_bytes((folder / f"{name}.bin").read_bytes())


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request):
    return request.param


def test_what_a_version_stored_reads_as_it_was(folder):
    assert contents_of(folder) == json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def test_a_game_is_the_same_as_text_and_as_bytes(folder):
    for name in GAMES:
        from_text, from_bytes = games_of(folder, name)
        assert from_text.is_over
        assert from_text.to_bytes() == from_bytes.to_bytes()


@pytest.mark.slow
def test_a_stored_run_resumes_to_its_end(folder, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(folder / "run", run)
    before = figures_of(read_result(run))
    assert resume_run(run) == 0
    after = read_result(run)
    assert after.has_final
    assert after.last.steps == 64
    assert figures_of(after)[: len(before)] == before


def record(folder):
    """Trains, exports and plays what ``folder`` will hold, in place of what it held."""
    with tempfile.TemporaryDirectory() as temporary:
        config, run = Path(temporary) / "config.yaml", folder / "run"
        config.write_text(CONFIG, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        assert start_run(config, run) == 0
    assert main(["compare", str(run), "--export", str(folder)]) == 0
    forget_the_end(run)
    checkpoints = [path for path in checkpoints_of(run) if path.name != "step_0000000032"]
    for path in (run / "best", *checkpoints):
        shutil.rmtree(path)
    evaluations = [run / "evaluations" / name for name in ("best.json", "step_0000000064.json")]
    for path in (*run.glob("events.*"), run / "lock", *evaluations):
        path.unlink()
    for name, kind in GAMES.items():
        game, agent = kind(seed=3), agents.load("greedy")
        while not game.is_over:
            game.play(agent.act(game))
        (folder / f"{name}.txt").write_text(game.notation() + "\n", encoding="utf-8")
        (folder / f"{name}.bin").write_bytes(game.to_bytes())
    expected = json.dumps(contents_of(folder), indent=1)
    (folder / "expected.json").write_text(expected + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--record"]:
        sys.exit(__doc__)
    record(STORED / __version__)

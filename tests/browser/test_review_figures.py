"""Given the same analyses, the page computes the figures of ``patchwork-env review`` in JavaScript."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from patchwork_env import agents, play
from patchwork_env.agents.patchwork.champion.agent import ChampionAgent
from patchwork_env.agents.patchwork.value.expansion import TO_WIN
from patchwork_env.learning.reports.review import NAMES, read_game, review
from patchwork_env.patchwork import Game
from patchwork_env.service.positions import positions_of
from tests.agents.values import simple_weights

pytestmark = pytest.mark.browser

MODULE = Path(play.__file__).parent / "page" / "js" / "analysis" / "review.js"
SCRIPT = """
import {{ NAMES, review, worst }} from "{module}";
let given = "";
for await (const part of process.stdin) given += part;
const {{ positions, analyses }} = JSON.parse(given);
const reviewed = review(positions, analyses);
console.log(JSON.stringify({{ names: NAMES, ...reviewed, worst: worst(reviewed) }}));
"""


def of_page(positions, analyses):
    """What the page makes of analyses."""
    node = shutil.which("node")
    if node is None:
        pytest.fail("the page's figures are computed by node, which is not installed: apt-get install nodejs")
    script = SCRIPT.format(module=MODULE.as_uri())
    given = json.dumps({"positions": positions, "analyses": analyses})
    ran = subprocess.run(
        [node, "--input-type=module", "--eval", script],
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(ran.stdout))


def analysis_of(analysis):
    """An analysis as the page has it: from the side of player 0."""

    def win(value):
        return value if value is None or analysis.player == 0 else 1 - value

    def margin(value):
        return value if value is None or analysis.player == 0 else -value

    lines = [
        {
            "word": move.move,
            "win": win(move.win),
            "margin": margin(move.margin),
            "exact": move.source == "exact",
            "line": move.line,
            "alike": move.alike,
        }
        for move in analysis.moves
    ]
    return {
        "player": analysis.player,
        "win": lines[0]["win"],
        "margin": lines[0]["margin"],
        "depth": 1,
        "lines": lines,
    }


def test_figures_are_those_of_the_command(pytestconfig):
    game = read_game(pytestconfig.rootpath / "examples" / "game.txt")
    agent = ChampionAgent(simple_weights(), TO_WIN, nodes=5)
    expected = review(game, agent).as_dict()
    analyses, at = [], game.root()
    for action in game.history:
        analyses.append(analysis_of(agents.analyse(at, agent)))
        at.play(action)
    found = of_page(positions_of(game), [*analyses, None])
    assert found["names"] == NAMES
    assert [one["win"] for one in found["evaluations"]] == [one["win"] for one in expected["evaluations"]]
    assert [one["exact"] for one in found["evaluations"]] == [one["exact"] for one in expected["evaluations"]]
    for verdict, other in zip(found["verdicts"], expected["moves"], strict=True):
        assert (verdict["ply"], verdict["player"], verdict["word"]) == (
            other["number"],
            other["player"],
            other["move"],
        )
        assert (verdict["best"], verdict["name"]) == (other["best"], other["name"])
        assert verdict["winLoss"] == pytest.approx(other["win_loss"], abs=1e-12)
        assert verdict["marginLoss"] == pytest.approx(other["margin_loss"], abs=1e-9)
    for side, other in zip(found["players"], expected["players"], strict=True):
        assert side["counts"] == other["counts"]
        assert side["accuracy"] == pytest.approx(other["accuracy"], abs=1e-9)
    assert any(sum(side["counts"].values()) for side in found["players"])
    named = [verdict for verdict in found["verdicts"] if verdict["name"]]
    assert sorted(verdict["ply"] for verdict in found["worst"]) == [verdict["ply"] for verdict in named]
    losses = [verdict["winLoss"] for verdict in found["worst"]]
    assert losses == sorted(losses, reverse=True)


def test_moves_without_an_analysis_have_no_figures():
    game = Game(seed=3)
    for _ in range(3):
        game.play(int(game.legal_actions()[0]))
    positions = positions_of(game)
    found = of_page(positions, [None] * len(positions))
    assert found["evaluations"] == [None] * len(positions)
    assert [verdict["winLoss"] for verdict in found["verdicts"]] == [None] * 3
    assert [side["accuracy"] for side in found["players"]] == [None, None]
    assert found["worst"] == []


def test_points_of_a_game_alone_are_compared_within_an_analysis():
    def at(ply, word, *, over=False):
        return {
            "ply": ply,
            "player": 0,
            "over": over,
            "scores": [60],
            "winners": [0] if over else [],
            "word": word,
        }

    def line(word, score):
        return {"word": word, "win": None, "margin": None, "scores": [score], "exact": False, "line": [word]}

    positions = [at(0, None), at(1, "b"), at(2, "a"), at(3, "c", over=True)]
    lines = [line("a", 70.0), line("b", 64.5)]
    analysis = {"player": 0, "win": None, "margin": None, "scores": [70.0], "depth": 9, "lines": lines}
    found = of_page(positions, [analysis, analysis, analysis, None])
    assert [verdict["scoreLoss"] for verdict in found["verdicts"]] == [5.5, 0, 10]
    assert [verdict["winLoss"] for verdict in found["verdicts"]] == [None] * 3
    assert found["players"] == [{"accuracy": None, "counts": dict.fromkeys(NAMES, 0), "loss": 15.5 / 3}]
    assert [verdict["word"] for verdict in found["worst"]] == ["c", "b"]


def test_the_same_move_costs_two_players_the_same_points():
    def at(ply, word):
        return {"ply": ply, "player": ply % 2, "over": False, "scores": [0, 0], "winners": [], "word": word}

    def analysis(player, own, other):
        scores = [own, other] if player == 0 else [other, own]
        line = {
            "word": "best",
            "win": None,
            "margin": None,
            "scores": scores,
            "exact": False,
            "line": ["best"],
        }
        return {"player": player, "win": None, "margin": None, "scores": scores, "depth": 9, "lines": [line]}

    positions = [at(0, None), at(1, "other"), at(2, "other"), at(3, "best")]
    analyses = [analysis(0, 95, 94), analysis(1, 95, 94), analysis(0, 90, 88), analysis(1, 90, 88)]
    losses = [verdict["scoreLoss"] for verdict in of_page(positions, analyses)["verdicts"]]
    assert losses == [5, 5, 0]

"""Analyses: the figures of the search, for every legal move, as data and as text."""

from __future__ import annotations

import json

import pytest

from patchwork_env import agents
from patchwork_env.agents.analysis import Line, without_luck
from patchwork_env.agents.compiled import write_weights
from patchwork_env.agents.patchwork.champion import ChampionAgent, ValueAgent
from patchwork_env.agents.patchwork.expansion import TO_WIN
from patchwork_env.core.files import write_folder
from patchwork_env.games import PATCHWORK
from patchwork_env.patchwork import Game
from tests.agents.values import simple_weights

WEIGHTS = simple_weights()
AGENT = ChampionAgent(WEIGHTS, TO_WIN, nodes=60)


def middle() -> Game:
    """A game in which a player without foresight has many moves, on a quilt without symmetry."""
    game, player = Game(seed=1), ValueAgent(WEIGHTS, TO_WIN)
    while len(game.history) < 12 or len(game.legal_actions()) < 60:
        game.play(player.act(game))
    return game


def near_end(legal: int = 4) -> Game:
    """A position just before the end of a game, with a choice."""
    game, player, last = Game(seed=1), ValueAgent(WEIGHTS, TO_WIN), None
    while not game.is_over:
        if len(game.legal_actions()) >= legal:
            last = game.clone()
        game.play(player.act(game))
    assert last is not None
    return last


def test_figures_are_those_of_the_search_and_the_rest_those_of_the_value() -> None:
    game = middle()
    lines, glances = AGENT.search(game), {line.action: line for line in AGENT.evaluate_moves(game)}
    analysis = agents.analyse(game, AGENT)
    assert (analysis.agent, analysis.player) == (AGENT.name, game.current_player)
    assert [entry.action for entry in analysis.moves[: len(lines)]] == [line.action for line in lines]
    assert analysis.best is analysis.moves[0]
    assert analysis.best.action == AGENT.act(game)
    assert any(line.visits for line in lines)
    for entry, line in zip(analysis.moves, lines, strict=False):
        win = min(line.win, lines[0].win)
        assert (entry.margin, entry.win, entry.visits) == (line.margin, win, line.visits)
        assert entry.source == ("search" if line.visits else "value")
        after = game.clone()
        for word in entry.line:
            after.play(after.parse_move(word))
        assert after.history[len(game.history) :] == line.variation
    rest = analysis.moves[len(lines) :]
    assert len(rest) > 0
    for entry in rest:
        glance = glances[entry.action]
        win = min(glance.win, lines[0].win)
        assert (entry.margin, entry.win, entry.visits) == (glance.margin, win, 0)
        assert (entry.source, entry.line) == ("value", (entry.move,))
    worths = [TO_WIN.outcome * (2 * glances[m.action].win - 1) + TO_WIN.margin * m.margin for m in rest]
    assert worths == sorted(worths, reverse=True)


def test_no_move_looks_better_than_the_first_by_luck() -> None:
    first = Line(7, 50, 1.0, 0.6, False, (7,))
    lucky, proven, worse = (
        first._replace(visits=3, win=0.9),
        first._replace(win=1.0, exact=True),
        first._replace(win=0.4),
    )
    assert without_luck([first, lucky, proven, worse]) == [first, lucky._replace(win=0.6), proven, worse]
    assert without_luck([]) == []


def test_a_glance_is_what_the_value_plays_by() -> None:
    game = middle()
    glances = AGENT.evaluate_moves(game)
    assert sorted(line.action for line in glances) == game.legal_actions().tolist()
    assert glances[0].action == ValueAgent(WEIGHTS, TO_WIN).act(game)


@pytest.mark.parametrize("game", [Game(seed=3), middle(), near_end()], ids=["start", "middle", "end"])
def test_every_legal_move_is_there_once(game: Game) -> None:
    before = game.clone()
    analysis = agents.analyse(game, AGENT)
    words = [word for entry in analysis.moves for word in (entry.move, *entry.alike)]
    assert sorted(words) == sorted(game.move_text(action) for action in game.legal_actions())
    assert analysis.num_legal == len(words)
    for entry in analysis.moves:
        assert game.move_text(entry.action) == entry.move == entry.line[0]
        assert 0 <= entry.win <= 1
    assert (game, game.history) == (before, before.history)


def test_on_an_empty_quilt_turned_and_flipped_moves_are_alike() -> None:
    game = Game(seed=3)
    analysis = agents.analyse(game, AGENT)
    glances = {game.move_text(line.action): line for line in AGENT.evaluate_moves(game)}
    assert any(len(entry.alike) == 7 for entry in analysis.moves)
    for entry in analysis.moves:
        for word in entry.alike:
            assert glances[word].margin == pytest.approx(glances[entry.move].margin, abs=1e-3)
            assert analysis.find(word) is entry
    assert all(not entry.alike for entry in agents.analyse(middle(), AGENT).moves)


def test_the_best_k() -> None:
    game = middle()
    assert agents.analyse(game, AGENT, k=3).moves == agents.analyse(game, AGENT).moves[:3]
    assert agents.analyse(game, AGENT, 10_000) == agents.analyse(game, AGENT)


def test_solved_endings_are_exact() -> None:
    game = near_end()
    agent = ChampionAgent(WEIGHTS, TO_WIN, nodes=2000)
    best = agents.analyse(game, agent).best
    assert best.source == "exact"
    player = game.current_player
    while not game.is_over:
        game.play(agent.act(game))
    scores = game.scores()
    assert best.margin == scores[player] - scores[1 - player]
    assert best.win == (game.winner() == player)


def test_json() -> None:
    analysis = agents.analyse(middle(), AGENT, k=2)
    data = json.loads(json.dumps(analysis.as_dict()))
    assert set(data) == {"agent", "player", "num_legal", "moves"}
    for values, entry in zip(data["moves"], analysis.moves, strict=True):
        assert values["move"] == entry.move
        assert (values["margin"], values["win"], values["visits"]) == (entry.margin, entry.win, entry.visits)
        assert tuple(values["line"]) == entry.line


def test_text() -> None:
    analysis = agents.analyse(middle(), AGENT)
    text = str(analysis)
    assert text == analysis.text()
    assert repr(analysis).startswith(f"<Analysis by {analysis.agent}: {analysis.best.move} of ")
    assert len(repr(analysis)) < 120
    assert analysis._repr_html_().startswith("<pre>player ")
    assert text.startswith(f"player {analysis.player} to move, {analysis.num_legal} legal moves; ")
    rows = text.splitlines()[3:23]
    for row, entry in zip(rows, analysis.moves, strict=False):
        assert row.split()[:5] == [
            entry.move,
            f"{entry.margin:+.1f}",
            f"{entry.win:.1%}",
            str(entry.visits),
            entry.source,
        ]
        assert len(row) < 120
    assert f"... and {len(analysis.moves) - 20} more" in text
    assert "search: " in text
    assert analysis.moves[-1].move in analysis.text(rows=None)
    assert f"... and {len(analysis.moves) - 1} more" in analysis.text(rows=1).splitlines()[4]


def test_a_spec_names_the_agent(tmp_path) -> None:
    folder = tmp_path / "value"
    write_folder(folder, lambda target: write_weights(target, PATCHWORK, WEIGHTS, {}))
    analysis = agents.analyse(middle(), f"{folder}:nodes=60")
    assert analysis == agents.analyse(middle(), agents.load(f"{folder}:nodes=60"))
    assert analysis.agent == "value:nodes=60"
    with pytest.raises(ValueError, match="agent 'value' cannot analyse"):
        agents.analyse(middle(), folder)


def test_errors() -> None:
    game = middle()
    with pytest.raises(ValueError, match="agent 'greedy' cannot analyse; those can that search"):
        agents.analyse(game, "greedy")
    for k, message in ((0, "k is 0; it must be at least 1"), (1.5, "k must be an integer, not 1.5")):
        with pytest.raises(ValueError, match=message):
            agents.analyse(game, AGENT, k)
    analysis = agents.analyse(game, AGENT, 1)
    with pytest.raises(ValueError, match="rows is 0; it must be at least 1"):
        analysis.text(0)
    with pytest.raises(ValueError, match="the analysis has no move '32/0@a1'"):
        analysis.find("32/0@a1")
    player = ValueAgent(WEIGHTS, TO_WIN)
    while not game.is_over:
        game.play(player.act(game))
    with pytest.raises(ValueError, match="the game is over"):
        agents.analyse(game, AGENT)

"""Analyses: the figures of the search, for every legal move, as data and as text."""

import json

import pytest

from patchwork_env import agents
from patchwork_env.agents.analysis import IncrementalAnalyst, Line, Scorer, without_luck
from patchwork_env.agents.patchwork.champion.agent import ChampionAgent, ValueAgent
from patchwork_env.agents.patchwork.value.expansion import TO_WIN
from patchwork_env.patchwork import Game
from tests.agents.nmbr9.tables import played
from tests.agents.values import simple_weights

WEIGHTS = simple_weights()
AGENT = ChampionAgent(WEIGHTS, TO_WIN, nodes=60)


def middle():
    """Return a game with many moves, on a quilt without symmetry."""
    game, player = Game(seed=1), ValueAgent(WEIGHTS, TO_WIN)
    while len(game.history) < 12 or len(game.legal_actions()) < 60:
        game.play(player.act(game))
    return game


def near_end(legal=4):
    """Return the last position of a game with at least ``legal`` moves."""
    game, player, last = Game(seed=1), ValueAgent(WEIGHTS, TO_WIN), None
    while not game.is_over:
        if len(game.legal_actions()) >= legal:
            last = game.clone()
        game.play(player.act(game))
    assert last is not None
    return last


def test_figures_come_from_the_search_or_the_value():
    game = middle()
    lines, glances = AGENT.search(game), {line.action: line for line in AGENT.evaluate_moves(game)}
    analysis = agents.analyse(game, AGENT)
    assert (analysis.agent, analysis.player) == (AGENT.name, game.current_player)
    assert [entry.action for entry in analysis.moves[: len(lines)]] == [line.action for line in lines]
    assert analysis.best is analysis.moves[0]
    assert analysis.best.action == AGENT.act(game)
    assert any(line.visits for line in lines)
    assert (analysis.margin, analysis.win) == (lines[0].margin, lines[0].win)
    assert (analysis.best.margin, analysis.best.win) == (lines[0].margin, lines[0].win)
    for entry, line in zip(analysis.moves, lines, strict=False):
        assert entry.visits == line.visits
        assert entry is analysis.best or (entry.margin, entry.win) == (None, None)  # after so few visits
        assert entry.source == ("search" if line.visits else "value")
        after = game.clone()
        for word in entry.line:
            after.play(after.parse_move(word))
        assert after.history[len(game.history) :] == line.variation
    rest = analysis.moves[len(lines) :]
    assert len(rest) > 0
    for entry in rest:
        assert (entry.margin, entry.win, entry.visits) == (None, None, 0)
        assert (entry.source, entry.line) == ("value", (entry.move,))
    chosen = [glances[entry.action] for entry in rest]
    worths = [TO_WIN.outcome * (2 * line.win - 1) + TO_WIN.margin * line.margin for line in chosen]
    assert worths == sorted(worths, reverse=True)


def test_no_move_looks_better_than_the_first_by_luck():
    first = Line(7, 50, 1.0, 0.6, False, (7,))
    lucky, worse = first._replace(visits=3, win=0.9), first._replace(win=0.4)
    proven = first._replace(win=1.0, exact=True)
    assert without_luck([first, lucky, proven, worse]) == [first, lucky._replace(win=0.6), proven, worse]
    assert without_luck([]) == []


@pytest.mark.parametrize("game", [Game(seed=3), middle(), near_end()], ids=["start", "middle", "end"])
def test_every_legal_move_is_there_once(game):
    before = game.clone()
    analysis = agents.analyse(game, AGENT)
    words = [word for entry in analysis.moves for word in (entry.move, *entry.alike)]
    assert sorted(words) == sorted(game.move_text(action) for action in game.legal_actions())
    assert analysis.num_legal == len(words)
    for entry in analysis.moves:
        assert game.move_text(entry.action) == entry.move == entry.line[0]
        assert entry.win is None or 0 <= entry.win <= 1
    assert (game, game.history) == (before, before.history)


def test_on_an_empty_quilt_turned_and_flipped_moves_are_alike():
    game = Game(seed=3)
    game.play(game.legal_actions()[-1])  # on the quilt of the other player
    analysis = agents.analyse(game, AGENT)
    glances = {game.move_text(line.action): line for line in AGENT.evaluate_moves(game)}
    assert any(len(entry.alike) == 7 for entry in analysis.moves)
    for entry in analysis.moves:
        for word in entry.alike:
            assert glances[word].margin == pytest.approx(glances[entry.move].margin, abs=1e-3)
            assert analysis.find(word) is entry
    assert all(not entry.alike for entry in agents.analyse(middle(), AGENT).moves)


def test_solved_endings_are_exact():
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


def test_json():
    analysis = agents.analyse(middle(), AGENT, k=2)
    assert analysis.moves == agents.analyse(middle(), AGENT).moves[:2]
    data = json.loads(json.dumps(analysis.as_dict()))
    assert set(data) == {"agent", "player", "num_legal", "margin", "win", "moves"}
    for values, entry in zip(data["moves"], analysis.moves, strict=True):
        assert values["move"] == entry.move
        assert (values["margin"], values["win"], values["visits"]) == (entry.margin, entry.win, entry.visits)
        assert tuple(values["line"]) == entry.line


def test_text():
    analysis = agents.analyse(middle(), AGENT)
    text, moves = str(analysis), analysis.moves
    assert len(repr(analysis)) < 120
    assert text.startswith(f"player {analysis.player} to move, {analysis.num_legal} legal moves; ")
    for row, entry in zip(text.splitlines()[3:23], moves, strict=False):
        known = [f"{entry.margin:+.1f}", f"{entry.win:.1%}"] if entry is analysis.best else ["-", "-"]
        figures = [entry.move, *known, str(entry.visits), entry.source]
        assert row.split()[:5] == figures
        assert len(row) < 120
    assert f"... and {len(moves) - 20} more" in text
    assert moves[-1].move in analysis.text(rows=None)


def test_errors():
    game = middle()
    with pytest.raises(ValueError, match="agent 'greedy' cannot analyse; agents that search"):
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
    for other, message in ((game, "the game is over"), (played(1), "plays patchwork, not nmbr9")):
        with pytest.raises(ValueError, match=message):
            agents.analyse(other, AGENT)


def ending(spaces):
    """Return a game in which the players together have this number of spaces left, and a choice."""
    game, agent = Game(seed=7), agents.load("greedy")
    while 106 - sum(game.positions) > spaces or len(game.legal_actions()) == 1:
        game.play(agent.act(game))
    return game


def visits(lines):
    return sum(line.visits for line in lines)


@pytest.mark.parametrize(
    ("game", "spec", "kind", "most"),
    [
        (Game(seed=3), "champion:fast", IncrementalAnalyst, 4),  # 22,000, twice, four times, all 140,000
        (played(5, seed=7, players=2), "nmbr9_champion:nodes=3000", Scorer, 9),
    ],
)
def test_every_result_has_more_visits(game, spec, kind, most):
    before, analyst = game.to_bytes(), agents.load(spec)
    assert isinstance(analyst, kind)
    rounds = list(analyst.deepen(game))
    assert [visits(lines) for lines in rounds] == sorted({visits(lines) for lines in rounds})
    assert 3 < len(rounds) <= most
    for lines in rounds:
        assert lines[0].visits == max(line.visits for line in lines)
        assert {line.action for line in lines} <= set(game.legal_actions().tolist())
        assert len({line.action for line in lines}) == len(lines)
    assert game.to_bytes() == before


def test_analyses_and_moves_are_independent():
    game, other = Game(seed=3), Game(seed=4)
    champion, alone = agents.load("champion:nodes=2000"), agents.load("champion:nodes=2000")
    going_on = champion.deepen(game)
    first = next(going_on)
    assert [champion.act(one) for one in (other, game)] == [alone.act(one) for one in (other, game)]
    assert [first, *going_on] == list(alone.deepen(game))


@pytest.mark.parametrize("spaces", [24, 8])
def test_endings_are_solved_as_a_search_does(spaces):
    game, champion = ending(spaces), agents.load("champion:fast")
    lines, found = list(champion.deepen(game))[-1], champion.search(game)
    assert lines[0].exact >= found[0].exact
    if found[0].exact:
        assert (lines[0].win, lines[0].margin) == (found[0].win, found[0].margin)

"""Reviews of games: the searches' figures, the costliest moves, the files, and errors that name the move."""

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from patchwork_env import agents
from patchwork_env.agents.compiled import write_weights
from patchwork_env.agents.patchwork.champion.agent import ChampionAgent
from patchwork_env.agents.patchwork.value.expansion import TO_WIN
from patchwork_env.core.files import write_folder
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.commands.review import FIGURES, PAGE, main
from patchwork_env.learning.evaluation.results import position_after
from patchwork_env.learning.reports import review as reviews
from patchwork_env.nmbr9 import Game as Nmbr9
from patchwork_env.patchwork import Game
from tests.agents.values import simple_weights
from tests.learning.reports.pages import Page, check_nothing_has_to_be_loaded
from tests.learning.reports.test_charts import marks

WEIGHTS = simple_weights()
NODES = 20
AGENT = ChampionAgent(WEIGHTS, TO_WIN, nodes=NODES)
SOLVER = ChampionAgent(WEIGHTS, TO_WIN, nodes=300)


@cache
def blundered():
    """A game in which the agent plays a bad move on purpose, once it can solve the ending, and its number."""
    game, number = Game(seed=4), 0
    while not game.is_over:
        moves = agents.analyse(game, SOLVER).moves
        worst = min(moves, key=lambda entry: (entry.source != "exact", entry.margin or 0.0))
        is_time = not number and worst.source == "exact" and moves[0].margin - worst.margin > 5
        number = len(game.history) + 1 if is_time else number
        game.play((worst if is_time else moves[0]).action)
    return game, number


@cache
def finished():
    game, players = Game(seed=5), (agents.load("greedy"), agents.load("random", seed=1))
    while not game.is_over:
        game.play(players[game.current_player].act(game))
    return game


@cache
def reviewed():
    return reviews.review(finished(), AGENT)


def test_evaluations_are_those_of_the_searches():
    game, result = finished(), reviewed()
    assert len(result.evaluations) == len(game.history) + 1
    assert repr(result) == f"<Review of {game!r} by {AGENT.name}>"
    for turns in (0, 7, 20):
        analysis = agents.analyse(position_after(game, turns), AGENT)
        margin, win = analysis.best.margin, analysis.best.win
        expected = (margin, win) if analysis.player == 0 else (-margin, 1 - win)
        exact = analysis.best.source == "exact"
        assert result.evaluations[turns] == reviews.PositionEvaluation(*expected, exact)
    last = result.evaluations[-1]
    first, second = game.scores()
    assert (last.margin, last.win, last.exact) == (first - second, game.winner() == 0, True)


def test_moves_lose_the_step_from_one_evaluation_to_the_next():
    game, result = finished(), reviewed()
    assert [verdict.number for verdict in result.verdicts] == list(range(1, len(game.history) + 1))
    better = 0
    for verdict, (before, after) in zip(result.verdicts, pairwise(result.evaluations), strict=True):
        position = position_after(game, verdict.number - 1)
        assert verdict.player == position.current_player
        assert verdict.move == position.move_text(game.history[verdict.number - 1])
        assert verdict.best_line[0] == verdict.best
        assert verdict.played_line[0] == verdict.move
        if verdict.best == verdict.move:
            assert (verdict.margin_loss, verdict.win_loss, verdict.name, verdict.cost) == (0, 0, None, 0)
            continue
        better += 1
        sign = 1 if verdict.player == 0 else -1
        assert verdict.margin_loss == pytest.approx(sign * (before.margin - after.margin))
        assert verdict.win_loss == pytest.approx(sign * (before.win - after.win))
        assert verdict.name == reviews.name_of(verdict.win_loss)
        assert verdict.cost == pytest.approx(max(0, verdict.win_loss + verdict.margin_loss / reviews.POINTS))
    assert better > 5


def test_names_and_texts_of_losses_and_lines_of_play():
    names = {-0.3: None, 0.049: None, 0.05: "inaccuracy", 0.1: "mistake", 0.19: "mistake", 0.2: "blunder"}
    assert {loss: reviews.name_of(loss) for loss in names} == names
    verdict, losses = reviewed().verdicts[0], ((1.26, -0.1), (0.04, 0.0004))
    texts = [reviews.loss_texts(replace(verdict, margin_loss=points, win_loss=win)) for points, win in losses]
    assert texts == [("-1.3", "+10.0%"), ("0.0", "0.0%")]
    assert [reviews.line_text("abc", most) for most in (3, 2)] == ["a b c", "a b ..."]


def test_accuracy_is_full_without_losses_and_falls_with_each():
    assert reviews.accuracy([]) is None
    assert reviews.accuracy([0.0, -0.1]) == 100
    assert reviews.move_accuracy(0.1) == pytest.approx(63.5826, abs=1e-4)
    assert reviews.move_accuracy(1) == 0
    falling = [reviews.accuracy([0.0] * 9 + [loss]) for loss in (0, 0.05, 0.1, 0.2, 0.4, 1)]
    assert falling == sorted(set(falling), reverse=True)
    assert reviews.accuracy([0.0] * 9 + [1.0]) == pytest.approx((90 + 10 / (9 / 100 + 1)) / 2)


def test_a_player_has_the_counts_the_accuracy_and_the_mistakes_of_its_moves():
    result = reviewed()
    for player in (0, 1):
        verdicts = [verdict for verdict in result.verdicts if verdict.player == player]
        side = result.side(player)
        names = [verdict.name for verdict in verdicts]
        assert side.counts == {name: names.count(name) for name in ("inaccuracy", "mistake", "blunder")}
        assert side.accuracy == reviews.accuracy([verdict.win_loss for verdict in verdicts])
        assert result.as_dict()["players"][player] == {"accuracy": side.accuracy, "counts": side.counts}
        costly = sorted((v for v in verdicts if v.cost > 0), key=lambda v: -v.cost)
        assert len(costly) > 1
        assert (result.mistakes(player, 100), result.mistakes(player, 1)) == (costly, costly[:1])
    assert sum(result.side(0).counts.values()) + sum(result.side(1).counts.values()) > 0


def test_a_deliberately_bad_move_is_the_costliest():
    game, number = blundered()
    assert number > 0
    done: list[int] = []
    result = reviews.review(game, SOLVER, done.append)
    assert done == [1] * len(game.history)
    worst = max(result.verdicts, key=lambda verdict: verdict.cost)
    assert worst.number == number
    assert result.mistakes(worst.player, 1) == [worst]
    assert worst.margin_loss > 5
    assert f"{number}  {worst.move}" in reviews.text(result)


TEXT = """\
4 moves, not finished; judged by the judge

margin and win: of player 0, after the move
   player  move     margin    win          lost                      best
                      +0.5  51.0%
1       0  13/0@a1    -2.2  30.0%         -12.8  -21.0%  blunder     +
2       1  25/0@e6    -1.0  40.0%
3       1  22/1@a4    +0.0  50.0%  exact   -1.0   -4.0%              +
4       0  +          +0.2  75.0%  exact   -1.0   -4.0%  inaccuracy  +

player 0: accuracy 57%, 0 inaccuracies, 0 mistakes, 1 blunder
   move      lost                      best line
1  13/0@a1  -12.8  -21.0%  blunder     + + + + + + + + ...
4  +         -1.0   -4.0%  inaccuracy  + 25/0@e6

player 1: accuracy 91%, 0 inaccuracies, 0 mistakes, 0 blunders
   move     lost           best line
3  22/1@a4  -1.0  -4.0%    + 25/0@e6"""


def test_the_text_is_a_table_of_moves_and_one_of_each_players_mistakes():
    game = position_after(finished(), 4)
    figures = (0.5, 0.51), (-2.25, 0.3), (-1.0, 0.4), (0.0, 0.5), (0.25, 0.75)
    evaluations = [reviews.PositionEvaluation(*pair, exact=place > 2) for place, pair in enumerate(figures)]
    fine = reviews.Verdict(2, 1, "25/0@e6", "25/0@e6", 0.0, 0.0, None, 0.0, ("25/0@e6",), ("25/0@e6",))
    bad = replace(fine, number=1, player=0, move="13/0@a1", best="+", margin_loss=12.75, win_loss=0.21)
    bad = replace(bad, name="blunder", cost=0.24, best_line=9 * ("+",))
    small = replace(fine, number=3, move="22/1@a4", best="+", margin_loss=1.0, win_loss=0.04)
    small = replace(small, cost=0.05, best_line=("+", "25/0@e6"))
    verdicts = bad, fine, small, replace(small, number=4, player=0, move="+", name="inaccuracy")
    judged = reviews.Review("the judge", game, tuple(evaluations), verdicts)
    assert reviews.text(judged) == TEXT
    close = tuple(replace(one, margin=one.margin / 10) for one in evaluations)
    charts = reviews.render_page(replace(judged, evaluations=close), "a close game").split("</figure>")[:2]
    ends = [[marks(chart, "end")[place][2] for place in (0, -2)] for chart in charts]
    assert ends == [["-1", "1"], ["0%", "100%"]]


def test_a_move_that_is_the_best_one_but_for_a_turn_costs_nothing():
    start = Game(seed=3)
    best = agents.analyse(start, AGENT).best
    assert best.alike
    start.play(start.parse_move(best.alike[-1]))
    (verdict,) = reviews.review(start, AGENT).verdicts
    assert (verdict.move, verdict.best, verdict.cost) == (best.alike[-1], best.alike[-1], 0)


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "final"
    write_folder(folder, lambda target: write_weights(target, PATCHWORK, WEIGHTS, {}))
    return f"{folder}:nodes={NODES}"


@pytest.fixture(scope="module")
def out(spec, tmp_path_factory):
    folder = tmp_path_factory.mktemp("games")
    (folder / "game.txt").write_text(finished().notation())
    (folder / "game-review").mkdir()
    assert main([str(folder / "game.txt"), "--agent", spec]) == 0
    return folder / "game-review"


def test_figures(out):
    data = json.loads(written := (out / FIGURES).read_text())
    assert written == json.dumps(reviewed().as_dict() | {"agent": data["agent"]}, indent=2) + "\n"
    assert (data["format"], data["version"], data["game"]) == ("patchwork-env review", 1, "patchwork")
    assert Game.from_notation(data["notation"]) == finished()
    assert (tuple(data["scores"]), data["winner"]) == (finished().scores(), finished().winner())


def test_page(out):
    page, result = Page((out / PAGE).read_text(encoding="utf-8")), reviewed()
    assert "game.txt" in page.text
    *heights, _ = [text for _, _, text in marks(page.source.partition("</figure>")[0], "end")]
    assert -float(heights[0]) == float(heights[-1]) >= max(abs(one.margin) for one in result.evaluations)
    assert page.source.count('class="line c0"') == 2  # the color of player 0
    check_nothing_has_to_be_loaded(page)
    for verdict, evaluation in zip(result.verdicts, result.evaluations[1:], strict=True):
        assert f"{verdict.number} {verdict.player} {verdict.move} {evaluation.margin:+.1f} " in page.text
    mistakes = [verdict for player in (0, 1) for verdict in result.mistakes(player, reviews.MOST_MISTAKES)]
    for verdict in mistakes:
        assert f"move {verdict.number}: {verdict.move} instead of {verdict.best}" in page.text
    assert all(reviews.summary(result, player) in page.text for player in (0, 1))
    for color, key in ((reviews.BEST, "best"), (reviews.PLAYED, "move")):
        moves = [getattr(mistake, key) for mistake in mistakes]
        lines = sum(2 if "/" in move else 1 for move in moves)  # around the card and the cells, or the space
        assert page.source.count(f'stroke="{color}"') == lines


def test_terminal_and_unfinished_games(spec, tmp_path, capsys):
    game, out = tmp_path / "game.txt", tmp_path / "a" / "b"
    game.write_text(position_after(finished(), 9).notation())
    assert main([str(game), "--agent", spec, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"9 moves, not finished; judged by {spec}\n")
    assert str(out) in printed
    assert sorted(path.name for path in out.iterdir()) == sorted([PAGE, FIGURES])
    assert json.loads((out / FIGURES).read_text())["winner"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: "", "game.txt: the text is empty"),
        (lambda t: Nmbr9(seed=1).notation(), "game.txt holds a game of NMBR 9; only games of Patchwork"),
        (lambda t: t + "\n+\n", "move {end}: '+': action 0 comes after the end of the game"),
        (lambda t: t.splitlines()[0] + "\n+\n+ 99/0@a1\n", "move 3: '99/0@a1' buys patch 99"),
        (lambda t: t.splitlines()[0] + "\n", "the game has no moves"),
    ],
)
def test_a_damaged_game_is_an_error_that_names_the_move(change, message, spec, tmp_path, capsys):
    path = tmp_path / "game.txt"
    path.write_text(change(finished().notation()))
    assert main([str(path), "--agent", spec]) == 2
    assert message.format(end=len(finished().history) + 1) in capsys.readouterr().err


def test_other_errors(spec, tmp_path, capsys):
    path = tmp_path / "game.txt"
    path.write_text(finished().notation())
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xff")
    (tmp_path / "file").touch()
    for arguments, message in (
        ([tmp_path / "bytes"], "bytes is not in UTF-8"),
        ([path, "--agent", "greedy"], "agent 'greedy' cannot analyse"),
        ([path, "--agent", "grandmaster"], "there is no agent 'grandmaster'"),
        ([path, "--agent", spec, "--out", tmp_path / "file"], "file is a file; --out takes the path"),
    ):
        assert main(list(map(str, arguments))) == 2
        assert message in capsys.readouterr().err
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bytes", "file", "game.txt"]


def test_the_example_is_a_finished_game_and_games_that_windows_has_stored_are_read(tmp_path, pytestconfig):
    path = tmp_path / "game.txt"
    path.write_text(finished().notation(), encoding="utf-8-sig", newline="\r\n")
    assert reviews.read_game(path).history == finished().history
    assert reviews.read_game(pytestconfig.rootpath / "examples" / "game.txt").is_over

"""Both games in words: texts have all that a player needs, and every legal move has a word."""

from __future__ import annotations

import random
import re
from types import SimpleNamespace
from typing import Any

import pytest

from patchwork_env import games
from patchwork_env.core.names import counted
from patchwork_env.errors import IllegalActionError
from patchwork_env.integrations import text
from patchwork_env.integrations.text.answers import PAGE, REQUESTS
from patchwork_env.integrations.text.nmbr9 import _why_no_room
from patchwork_env.integrations.text.view import notation_of
from patchwork_env.nmbr9 import Game as Nmbr9
from patchwork_env.patchwork import Game as Patchwork
from patchwork_env.patchwork.components import INCOME_SPACES
from tests.toy import Game as Toy


def after(game, moves, seed=0):
    """Return the game after some random moves."""
    chance = random.Random(seed)
    for _ in range(moves):
        game.play(chance.choice(game.legal_actions().tolist()))
    return game


def positions():
    """Return positions of all kinds in both games."""
    special = after(Patchwork(seed=7), 25)
    assert special.pending_special
    return [
        Patchwork(seed=7),
        after(Patchwork(seed=7), 20),
        special,
        Nmbr9(seed=7),
        after(Nmbr9(seed=7, players=3), 40),
        after(Nmbr9(seed=7, order="known"), 19),
        Nmbr9(seed=7, order="free"),
        after(Nmbr9(seed=7, order="free", players=2), 21),
    ]


def refusal(game, move):
    with pytest.raises(IllegalActionError) as caught:
        text.parse(game, move)
    return str(caught.value)


each_position = pytest.mark.parametrize("game", positions(), ids=repr)


@each_position
def test_groups_and_pages_hold_each_legal_move_once(game):
    choices = [choice for group in text.moves(game) for choice in group.choices]
    assert sorted(choice.action for choice in choices) == game.legal_actions().tolist()
    assert all(choice.word == game.move_text(choice.action) for choice in choices)
    assert f" {len(choices)} legal move" in text.ask(game, "moves")
    placing = [move for move in map(game.move_text, game.legal_actions()) if "@" in move or move[0] == "*"]
    listed: list[str] = []
    for page in range(1, len(placing) // PAGE + 2):
        shown = text.ask(game, f"placements page {page}") if len(listed) < len(placing) else ""
        listed += re.findall(r"(?<=[ ])(?:[0-9]+/[0-7]@\S+|\*[a-i][1-9])", shown)
    assert sorted(listed) == sorted(placing)
    with pytest.raises(ValueError, match="page is 99; allowed are 1 to"):
        text.ask(game, "placements page 99")


@each_position
def test_each_word_is_read_as_the_move_it_names(game):
    for action in game.legal_actions().tolist()[::7]:
        word = game.move_text(action)
        said = [word, f" `{word}` ", f"I think so.\n\n**Move: {word.replace(',', ', ').upper()}**\n"]
        assert [text.parse(game, answer) for answer in said] == [action] * len(said)


def test_answers_that_are_not_clear_are_told_what_was_found():
    game = Patchwork(seed=7)
    unclear = refusal(game, "I am lost.\nAnswer: not +")
    assert re.match(r"'answer: not \+' is not an answer; end with a line .* 'answer: \+'", unclear)
    assert refusal(game, "<think>\nMove: +").startswith("'' is not an answer")


@each_position
def test_requests_are_told_from_moves_and_change_nothing(game):
    before, history = game.to_bytes(), game.history
    for request in REQUESTS:
        assert text.is_request(f"  {request.upper()} ")
        assert request == "shapes" or text.ask(game, request)
    assert text.ask(game, "rules") == text.rules(game)
    assert not any(map(text.is_request, ("+", "12/3@d5", "*d5", "7/3@-2,5", "", "the moves")))
    refusal(game, "nonsense")
    assert (game.to_bytes(), game.history) == (before, history)


def test_a_position_of_patchwork_holds_everything():
    game = after(Patchwork(seed=7), 20)
    told = text.describe(game, 1 - game.current_player)
    reader = 1 - game.current_player
    own, other, mover = game.scores()[reader], game.scores()[1 - reader], f"player {1 - reader}"
    assert told.startswith(
        f"You are player {reader}, against {mover}. It is the move of {mover}. "
        f"Scores, if the game ended now: you {own}, {mover} {other}.\n"
    )
    assert notation_of(game) == game.notation()
    for player, name in ((reader, "You"), (1 - reader, f"Player {1 - reader}")):
        ahead = min(space for space in INCOME_SPACES if space > game.positions[player])
        income = f"next income at {ahead}, {counted(game.buttons[player], 'button')}."
        assert f"\n{name}: space {game.positions[player]} of 53, {income}\n" in told
    assert f" still on the track: {', '.join(map(str, game.special_spaces))}.\n\n{game}" in told
    for patch in game.offered:
        assert text.ask(game, f"shapes of patch {patch}") in told
    shapes = "orientation 0   orientation 1\n###             #.#\n.#.             ###\n###             #.#"
    assert text.ask(game, "shapes of patch 31") == f"patch 31:\n{shapes}"


def test_a_position_of_nmbr9_holds_everything_but_the_deck():
    game = after(Nmbr9(seed=7), 12)
    told = text.describe(game)
    assert told.startswith("You play alone. It is your move.")
    words = re.findall(r"[0-9]/[0-3]@[-0-9,]+[0-9]", told)
    assert sorted(words) == sorted(game.notation().split("\n")[1].split())
    determinized = game.determinize(3)
    assert determinized.deck != game.deck
    assert text.describe(determinized) == told
    assert notation_of(game) is None
    assert text.ask(game, f"shapes of tile {game.digit}") in told
    for order, situation in (
        ("unknown", "place tile 7.\nCards not yet turned, in unknown order: 0x1, 2x1, 7x1."),
        ("known", "place tile 7.\nThe cards to come, in this order: 0, 7, 2."),
        ("free", "choose a tile.\nTiles left to choose from: 0x1, 2x1, 7x2."),
    ):
        told = text.describe(Nmbr9(deck=[7, 0, 7, 2], order=order))
        head = "You play alone. It is your move. Scores, if the game ended now: you 0.\nRound 1 of 4: "
        assert told.startswith(f"{head}{situation}\n")


def test_ended_games():
    games: list[Any] = [Patchwork(seed=1), Nmbr9(seed=1, players=2), Nmbr9(seed=1, deck_size=5)]
    for game in games:
        while not game.is_over:
            after(game, 1)
        said = "won by you" if game.num_players > 1 else f"you scored {game.scores()[0]}"
        assert said in text.describe(game, game.winners()[0]).partition("\n")[0]
        assert text.ask(game, "moves") == "The game is over; there are no moves."
        assert sum(len(group.choices) for group in text.moves(game)) == 0
        assert refusal(game, "+") == "the game is over; there are no moves"
        assert notation_of(game) == game.notation()


def test_each_group_has_an_example_or_the_reason_why_there_is_none():
    told = text.ask(Patchwork(seed=7), "moves")  # offers 25, 17 and 12 for 4, 7 and 2 of 5 buttons
    for line in (
        "+ (advance): to space 1, for 1 button\n",
        "patch 25: 192 placements, such as 25/0@a1; orientations 0, 1, 4, 5 (4 buttons, 2 time, 0 income",
        "patch 17: no placements (7 buttons, 1 time, 1 income, 5 cells; too expensive, you have 5)\n",
    ):
        assert line in told
    special, no_room = after(Patchwork(seed=7), 25), after(Patchwork(seed=53), 12, seed=53)
    assert text.ask(special, "moves").endswith(" such as *d1; orientations 0 (on any empty cell)")
    assert no_room.buttons[no_room.current_player] == 1
    assert "(1 button, 4 time, 1 income, 7 cells; there is no room for it)" in text.ask(no_room, "moves")


def played(game, *words):
    for word in words:
        game.play(text.parse(game, word))
    return game


COVERED = played(Patchwork(circle=[12, *range(1, 12), *range(13, 33), 0]), "12/0@a1", "+")
TILED = played(Nmbr9(deck=(8, 8, 7, 1)), "8/0@0,0")
TOWER = played(Nmbr9(deck=[1, 1, 1, 1]), "1/0@0,0", "1/2@0,2", "1/0@0,1")


@pytest.mark.parametrize(
    ("game", "word", "reason"),
    [
        (Patchwork(seed=7), "17/0@a1", "'17/0@a1' is not legal: patch 17 is too expensive, you have 5"),
        (Patchwork(seed=7), "3/0@a1", "patch 3 is not offered; the offered patches are 25, 17, 12"),
        (Patchwork(seed=7), "*a1", "there is no special patch to place"),
        (Patchwork(seed=7), "25/2@a1", "there is no orientation 2; orientations are 0, 1, 4, 5"),
        (Patchwork(seed=7), "0000000012/0@a1", "patch 000 is not offered"),  # more than 9 digits
        (Patchwork(seed=7), "25/00@a1", "there is no orientation 00"),
        (Patchwork(seed=7), "000000025/0@g1", "it is 2 high and 4 wide, and would leave the quilt. Allowed"),
        (COVERED, "2/0@a2", "it would cover a2, b2, which are covered already. Allowed"),
        (COVERED, "3/0@b2", "it would cover b2, which is covered already. Allowed"),  # for all 3 buttons
        (after(Patchwork(seed=7), 25), "*a1", "the cell a1 is covered. Allowed are"),
        (after(Patchwork(seed=7), 25), "+", "a special patch must be placed first, such as '*d5'"),
        (Nmbr9(deck=[8], order="free"), "=7", "no tile 7 is left. Allowed are =8"),
        (Nmbr9(deck=[8], order="free"), "8/0@0,0", "choose a tile first, such as '=8'"),
        (Nmbr9(deck=[8]), "8/1@1,0", "lies at 0,0, as '8/1@0,0'. Allowed are 2 of tile 8, such as 8/0@0,0"),
        (TILED, "5/0@0,0", "the tile to be placed is 8, not 5"),
        (TILED, "=8", "tile 8 must be placed now"),
        (TILED, "8/2@0,0", "there is no orientation 2; orientations are 0, 1"),
        (TILED, "8/0@0,1", "below it would be the table, tiles of level 0, which must be one level"),
        (TILED, "8/0@9,9", "on level 0 it would touch no other tile of that level"),
        (played(Nmbr9(deck=[5, 1]), "5/0@0,0"), "1/0@0,1", "on level 1 it would rest on one tile alone"),
        (played(Nmbr9(deck=[5, 1]), "5/1@0,0"), "1/1@1,0", "on level 1 it would rest on one tile alone"),
        (TOWER, "1/0@0,1", "on level 2 it would rest on one tile alone"),
    ],
)
def test_illegal_moves_say_why(game, word, reason):
    assert reason in refusal(game, word)


def test_a_tile_that_touches_others_may_be_too_far_away():
    tile = SimpleNamespace(cells={(0, column) for column in range(63)} | {(row, 0) for row in range(63)})
    for cell in ((0, 63), (63, 0)):
        assert _why_no_room((tile,), {cell}) == "the tiles would spread over more than 63 rows or columns"


def test_filters_of_placements():
    game = Patchwork(seed=7)
    told = text.ask(game, "placements of patch 25 in orientation 0, row 3")
    words = " ".join(f"25/0@{column}3" for column in "abcdef")
    assert told == f"6 placements of patch 25\npatch 25 in orientation 0: {words}"
    assert text.ask(game, "placements of patch 25 in orientation 0, column C, row 3").endswith("25/0@c3")
    assert text.ask(game, "placements of patch 25 in column z") == "0 placements of patch 25"
    assert text.ask(game, "placements in row 1").startswith("88 placements, page 1 of 2\npatch 25 in")
    assert text.ask(game, "placements of patch 17").endswith("1 income, 5 cells; too expensive, you have 5")
    assert text.ask(after(Patchwork(seed=7), 25), "placements in row 1, column d").endswith(" 0: *d1")
    tower = after(Nmbr9(seed=7), 14)
    counts = [int(text.ask(tower, f"placements on level {level}").split()[0]) for level in range(3)]
    assert sum(counts) == len(tower.legal_actions())
    assert min(counts[:2]) > counts[2] == 0
    assert f"({counts[1]} on level 1, {counts[0]} on level 0)" in text.ask(tower, "moves")
    assert text.ask(tower, "placements in orientation 2, row 3, column 10").endswith(" 1/2@3,10")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("placements of patch 3", "there is no 'patch 3' now; did you mean"),
        ("placements of cushion", "'placements of cushion' is not understood; 'placements' gives"),
        ("placements of cushion 3 and patch 2", "is not understood"),
        ("placements page x", "page"),
        ("shapes", "'shapes' gives the shape of any piece"),
        ("rules of patch 3", "is not understood; 'rules' gives"),
        ("shapes of patch 33", "there is no piece 'patch 33'; pieces are named as 'patch 7'"),
        ("shapes of tile 9", "there is no piece 'tile 9'"),
        ("position", "player is -1; allowed are 0 to 1"),
        ("help", "there is no request 'help'; allowed are 'rules'"),
    ],
)
def test_requests_that_make_no_sense_are_refused(request_, message):
    with pytest.raises(ValueError, match=message):
        text.ask(Patchwork(seed=7), request_, player=-1)


def test_odd_texts_are_refused_briefly():
    odd: list[Any] = ["", " ", "+1 +", "9" * 50 + "/0@a1", "25/" + "9" * 50 + "@a1", "7/3@--2,5"]
    odd += ["7/3@99,-99", "\0", "a" * 10**6, "\n" * 10**6, " " * 10**6 + "x", "move:" * 10**5]
    odd += ["*" * 10**6, "/@" * 10**5, 7]
    for game in (Patchwork(seed=7), Nmbr9(seed=7)):
        for move in odd:
            assert len(refusal(game, move)) < 600, move


def test_other_games_have_no_words(monkeypatch):
    monkeypatch.setitem(games._MODULES, "row", "tests.toy")
    with pytest.raises(ValueError, match="'row' has no part 'view'; those with one: patchwork, nmbr9"):
        text.rules(Toy(seed=1))


MOVE = "12/0@a1"  # legal in Patchwork of seed 7, whose first move may also be "+"
JSON = '{"answer": "+", "reason": "no, better than +", "move": "12/0@a1"}'


@pytest.mark.parametrize(
    ("said", "move"),
    [
        (f"  `{MOVE.upper()}`. \n", MOVE),
        (f"I might advance.\n\n{MOVE}", MOVE),
        (f"### Final answer: {MOVE}", MOVE),
        (f"**Final answer:**\n\n{MOVE}", MOVE),
        (f"Answer:\n```text\n{MOVE}\n```", MOVE),
        (f"Move: +\nNo, wait.\nMove: {MOVE}", MOVE),
        (f"Move: {MOVE}\nPlacements near the corner leave no gap.", MOVE),
        (rf"The answer is $\boxed{{{MOVE}}}$", MOVE),
        (f"<answer>{MOVE}</answer>", MOVE),
        (f"It fits.\n<move>\n{MOVE}\n</move>", MOVE),
        (JSON, MOVE),
        (f"It fits.\n```json\n{JSON}\n```", MOVE),
        (f"<think>\nMove: +\n</think>\n{MOVE}", MOVE),
        ("placements of patch 12, row 1", "request"),
        ("Let me see.\nAnswer: rules.", "request"),
        ('{"answer": "shapes of patch 12"}', "request"),
        ("advance", None),
        ("Buy patch 12 in orientation 0 at a1", None),
        (f"My move is {MOVE}", None),
        (f"- {MOVE}", None),
        (f"{MOVE}\n\nThis leaves no gap.", None),
        (f"Bad move: {MOVE}", None),
        (f"Move: {MOVE} because it leaves no gap", None),
        (f"Move: {MOVE}. I changed my mind: +.", None),
        (f"Move: {MOVE}\nMove: none", None),
        (rf"\boxed{{{MOVE}}} or \boxed{{+}}?", None),
        (f"<rejected>{MOVE}</rejected>", None),
        ('{"rejected": {"move": "12/0@a1"}}', None),
        ('{"move": ["12/0@a1"]}', None),
        ("{" * 5000 + "}", None),
        (f"<think>\nMove: {MOVE}", None),
        ("the moves are hard to find", None),
    ],
)
def test_only_a_marked_move_or_a_last_line_that_is_a_move_is_an_answer(said, move):
    game = Patchwork(seed=7)
    if move not in (None, "request"):
        assert game.move_text(text.parse(game, said)) == move
    else:
        assert "is not an answer" in refusal(game, said)
        assert text.is_request(said) == (move == "request")

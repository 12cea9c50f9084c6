"""The messages of the page, their answers and errors."""

from __future__ import annotations

from typing import Any

import pytest

from patchwork_env import nmbr9, patchwork
from patchwork_env.service.fields import MOST_LINES
from tests.play.client import one_client

client = one_client
CIRCLE = [*range(32, -1, -1)]
NOTATION = patchwork.Game(seed=7).notation()
OVER = nmbr9.Game(deck=[1])
OVER.play(int(OVER.legal_actions()[0]))


def test_a_game_is_opened_and_played(client):
    game = patchwork.Game(seed=7)
    opened = client.ask("/api/open", {"game": "patchwork", "seed": 7}).json
    assert opened["notation"] == game.notation()
    assert [position["ply"] for position in opened["positions"]] == [0]
    for move in ("+", int(game.legal_actions()[5])):
        opened = client.ask("/api/play", {"notation": opened["notation"], "move": move}).json
        game.play(game.parse_move(move) if isinstance(move, str) else move)
        assert opened["notation"] == game.notation()
        assert opened["position"]["scores"] == list(game.scores())
    whole = client.ask("/api/open", {"notation": game.notation()}).json
    assert whole["notation"] == game.notation()
    assert whole["positions"][-1] == opened["position"]


@pytest.mark.parametrize(
    ("options", "game"),
    [
        ({"game": "patchwork", "seed": 3, "variant": "2014"}, patchwork.Game(3, special_patches="2014")),
        ({"game": "patchwork", "seed": 3, "first_player": 1}, patchwork.Game(3, first_player=1)),
        ({"game": "patchwork", "circle": CIRCLE, "seed": None}, patchwork.Game(circle=CIRCLE)),
        ({"game": "nmbr9", "seed": 3, "order": "known"}, nmbr9.Game(3, order="known")),
        ({"game": "nmbr9", "seed": 3, "players": 2}, nmbr9.Game(3, players=2)),
        ({"game": "nmbr9", "deck": [1, 2, 3]}, nmbr9.Game(deck=[1, 2, 3])),
        ({"notation": nmbr9.Game(5).notation()}, nmbr9.Game(5)),
    ],
)
def test_games_have_their_options(client, options, game):
    assert client.ask("/api/open", options).json["notation"] == game.notation()


WRONG: list[tuple[str, Any, str]] = [
    ("open", {"game": "patchwrk"}, "did you mean 'patchwork'?"),
    ("open", {"game": "patchwork", "sed": 1}, "patchwork has no option 'sed'; it has seed, variant"),
    ("open", {"game": "patchwork", "seed": -1}, "seed is -1; allowed are 0 to 2**64 - 1"),
    ("open", {"game": "patchwork", "variant": "2015"}, "2015"),
    ("open", {"game": "nmbr9", "order": "random"}, "order is 'random'"),
    ("open", {"notation": NOTATION + " +" * 500}, "move "),
    ("open", {"notation": "chess/1 e4"}, "there is no game 'chess'; allowed are 'patchwork', 'nmbr9'"),
    ("open", {}, "the message lacks 'game'; it needs 'game'"),
    ("play", {"notation": NOTATION}, "the message lacks 'move'; it needs 'notation', 'move'"),
    ("play", {"notation": NOTATION, "move": "*d5"}, "action 1984 is not legal"),
    ("play", {"notation": NOTATION, "move": False}, "move must be an integer, not False"),
    ("play", {"notation": OVER.notation(), "move": 0}, "after the end of the game"),
    ("agents", {"game": "patchwork", "notation": ""}, "unknown field 'notation'"),
    ("choose", {"notation": NOTATION, "agent": "x" * 5000}, "5000 characters; allowed are at most 4096"),
    ("analyse", {"notation": NOTATION, "lines": MOST_LINES + 1}, "lines is 51; allowed are 1 to 50"),
    ("open", b"", "the message is damaged: Expecting value"),
    ("open", b'{"game": NaN}', "not a finite number"),
    ("open", b'{"seed": ' + b"9" * 5000 + b"}", "Exceeds the limit"),
    ("open", b"[" * 60_000, "nested too deeply"),
    ("open", {"game": "\ud800"}, "there is no game '\\ud800'"),
]


@pytest.mark.parametrize(("route", "message", "words"), WRONG, ids=lambda value: str(value)[:30])
def test_wrong_messages_are_refused(client, route, message, words):
    answer = client.ask(f"/api/{route}", message)
    assert answer.status == 400
    assert words in answer.json["error"]
    assert len(answer.json["error"]) <= 501
    assert "\n" not in answer.json["error"]

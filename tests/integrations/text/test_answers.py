"""What counts as an answer, by a collection of texts that were labelled by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from patchwork_env.core.game import BaseGame
from patchwork_env.errors import IllegalActionError
from patchwork_env.integrations import text
from patchwork_env.nmbr9 import Game as Nmbr9
from patchwork_env.patchwork import Game as Patchwork
from tests.integrations.text.test_text import after

COLLECTION: dict[str, dict[str, list[dict[str, str]]]] = yaml.safe_load(
    Path(__file__).with_name("answers.yaml").read_text(encoding="utf-8")
)
CASES = [
    pytest.param(position, said, label, id=f"{position}-{kind}-{number}")
    for position, kinds in COLLECTION.items()
    for kind, cases in kinds.items()
    for number, case in enumerate(cases, 1)
    for label, said in case.items()
]


def tile() -> BaseGame[Any]:
    game = Nmbr9(deck=[8, 8, 7, 1])
    game.play(game.parse_move("8/0@0,0"))
    return game


POSITIONS = {
    "start": Patchwork(seed=7),
    "special": after(Patchwork(seed=7), 25),
    "tile": tile(),
    "choose": Nmbr9(seed=7, order="free"),
}


def read(game: BaseGame[Any], said: str) -> str:
    """What a text is taken for: a request, the word of a move, or ``"none"``."""
    if text.is_request(said):
        return text.ask(game, said)
    try:
        return game.move_text(text.parse(game, said))
    except IllegalActionError:
        return "none"


@pytest.mark.parametrize(("position", "said", "label"), CASES)
def test_answers_are_read_as_a_strict_reader_would(position: str, said: str, label: str) -> None:
    game = POSITIONS[position]
    wanted = text.ask(game, label) if label.partition(" ")[0] in text.REQUESTS else label
    assert read(game, said) == wanted

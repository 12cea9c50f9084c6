"""What the pages of formats say is what files hold, and can be read."""

from __future__ import annotations

import re

from patchwork_env import errors, nmbr9, patchwork
from patchwork_env.core.polyomino import parse
from patchwork_env.nmbr9.components import TILES
from patchwork_env.patchwork.components import PATCHES
from tests.test_documents import PROJECT

REFERENCE = PROJECT / "docs" / "reference"


def blocks(page: str, *begins: str) -> list[str]:
    """The blocks of text of a page that begin in one of some ways."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    found = re.findall(r"^```text\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [block for block in found if block.startswith(begins)]


def test_games_and_positions_of_the_page_of_notation_are_read() -> None:
    for game in (patchwork.Game, nmbr9.Game):
        texts = blocks("notation.md", game.rules.name)
        assert len(texts) == 2
        for text in texts:
            again = game.from_notation(text)
            assert again.notation().split() == game.from_notation(again.notation()).notation().split()


def test_the_page_of_notation_lists_all_patches_and_tiles() -> None:
    (patches,), (tiles,) = blocks("notation.md", " 0  2 1 0"), blocks("notation.md", "0 ###")
    rows = [line.split() for line in patches.splitlines()]
    assert [
        (int(index), parse(drawing.split("/")), int(buttons), int(time), int(income))
        for index, buttons, time, income, drawing in rows
    ] == [(index, *patch) for index, patch in enumerate(PATCHES)]
    drawings = [line.split() for line in tiles.splitlines()]
    assert [parse(drawing.split("/")) for _, drawing in drawings] == list(TILES)


def test_the_page_of_errors_names_all_of_them() -> None:
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", text, re.MULTILINE))
    assert rows == {name: getattr(errors, name).__base__.__name__ for name in errors.__all__}

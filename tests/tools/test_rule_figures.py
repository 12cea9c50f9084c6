"""The figures of the rules show what the engine says, and the documents have those that the script draws."""

import re
from pathlib import Path
from xml.etree import ElementTree

from tools.rule_figures import figures

DOCS = Path(__file__).parents[2] / "docs"


def test_the_documents_have_the_figures_that_the_script_draws():
    drawn = dict(figures())
    kept = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "images" / "rules").iterdir()}
    assert kept == drawn


def test_every_figure_is_a_picture_on_the_page_of_its_game_with_words_for_those_who_cannot_see_it():
    for name, contents in figures():
        ElementTree.fromstring(contents)
        page = (DOCS / "games" / f"{name.partition('_')[0]}.md").read_text(encoding="utf-8")
        shown = re.search(rf"!\[([^]]+)\]\(\.\./images/rules/{name}\)", page)
        assert shown, name
        assert len(shown[1]) > 30, name

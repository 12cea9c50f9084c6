"""The pages of formats agree with the files, and their examples can be read."""

import dataclasses
import re

from patchwork_env import errors, nmbr9, patchwork
from patchwork_env.agents.checkpoints import FORMAT
from patchwork_env.learning.evaluation.records import EVALUATION_FORMAT as RUN_FORMAT
from patchwork_env.learning.evaluation.records import RunEvaluation
from patchwork_env.learning.evaluation.results import FORMAT as EVALUATION_FORMAT
from patchwork_env.learning.evaluation.results import MatchFigures, SampleGame
from patchwork_env.learning.reports.review import FORMAT as REVIEW_FORMAT
from patchwork_env.learning.reports.review import Review, Side, Verdict
from patchwork_env.learning.reports.run_results import FORMAT as RESULT_FORMAT
from patchwork_env.learning.reports.run_results import RunResult
from tests.test_documents import PROJECT

REFERENCE = PROJECT / "docs" / "reference"


def blocks(page, *begins):
    """The blocks of text of a page that begin in one of some ways."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    found = re.findall(r"^```text\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [block for block in found if block.startswith(begins)]


def test_games_and_positions_of_the_page_of_notation_are_read():
    for game in (patchwork.Game, nmbr9.Game):
        texts = blocks("notation.md", game.rules.name)
        assert len(texts) == 2
        for text in texts:
            again = game.from_notation(text)
            assert again.notation().split() == game.from_notation(again.notation()).notation().split()


def test_the_page_of_errors_names_all_of_them():
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", text, re.MULTILINE))
    assert rows == {name: getattr(errors, name).__base__.__name__ for name in errors.__all__}


def test_messages_of_the_page_of_troubleshooting_exist():
    """What the package says, in the first column, is still what it says."""
    sources = (path.read_text(encoding="utf-8") for path in (PROJECT / "patchwork_env").rglob("*.py"))
    said = re.sub(r'"\s*f?"', "", "\n".join(sources))  # joins strings of several lines
    text = (REFERENCE / "troubleshooting.md").read_text(encoding="utf-8")
    messages = re.findall(r"^\| `([^`]*…[^`]*)` \|", text, re.MULTILINE)
    assert len(messages) > 3
    parts = [part.strip(" :;?") for message in messages for part in message.split("…")]
    assert [part for part in parts if part not in said] == []


def test_the_pages_of_files_name_all_that_these_hold():
    """Tests of each command compare the rest of what it writes."""
    text = "".join((REFERENCE / page).read_text(encoding="utf-8") for page in ("formats.md", "run_files.md"))
    for kind in (FORMAT, EVALUATION_FORMAT, RUN_FORMAT, RESULT_FORMAT, REVIEW_FORMAT, "patchwork-env decks"):
        assert f'`"{kind}"`' in text
    documented = set(re.findall(r"`(\w+)`", text))
    kinds = (RunEvaluation, MatchFigures, SampleGame, RunResult, Review, Verdict, Side)
    names = {field.name for kind in kinds for field in dataclasses.fields(kind)}
    not_in_files = {"verdicts", "source", "label", "text", "metrics", "has_final"}
    assert names - not_in_files <= documented

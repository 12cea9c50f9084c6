"""The pages about the engine: their exchanges are replayed, and their tables are complete."""

import json
import re
from pathlib import Path

import pytest

from patchwork_env.agents.program import query_of
from patchwork_env.nmbr9 import Game
from patchwork_env.protocol.engine import Engine
from patchwork_env.protocol.queries import ALLOWED, NEEDED
from patchwork_env.service.agents import AgentPool
from tests.protocol.test_engine import Answers

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("use/engine.md", "reference/protocol.md")
PAGE = "".join((DOCS / page).read_text(encoding="utf-8") for page in PAGES)
BLOCKS = [
    re.sub(r"\n +", " ", block)
    for block in re.findall(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
]
"""Exchanges, each message in one line, where the page breaks long ones."""
GAP = "…"


def fits(found, shown):
    """Whether an answer is the one on the page, where a gap stands for anything."""
    if isinstance(shown, str) and GAP in shown:
        return shown == GAP or (isinstance(found, str) and found.startswith(shown.partition(GAP)[0]))
    if isinstance(shown, dict):
        named = shown.keys() - {GAP}
        return (
            isinstance(found, dict)
            and (found.keys() >= named if GAP in shown else found.keys() == named)
            and all(fits(found[name], shown[name]) for name in named)
        )
    if isinstance(shown, list):
        entries = shown[:-1] if shown[-1:] == [GAP] else shown
        is_whole = len(found) == len(shown) or (entries != shown and len(found) >= len(entries))
        return is_whole and all(map(fits, found, entries))
    return bool(found == shown)


@pytest.mark.parametrize("block", BLOCKS)
def test_exchanges_are_those_of_the_engine(block):
    answers, expected = Answers(), 0
    engine = Engine(AgentPool(), answers, threads=1)
    for line in block.splitlines():
        sign, text = line[:2], line[2:]
        if sign == "> ":
            engine.handle(text.encode())
            continue
        assert sign == "< "
        expected += 1
        found = answers.wait(expected)[expected - 1]
        assert fits(found, json.loads(text)), f"{found} instead of {text}"
    assert len(answers) == expected
    engine.close()


def test_there_are_exchanges_of_every_method_and_every_field_is_in_a_table():
    sent = [line[2:] for block in BLOCKS for line in block.splitlines() if line.startswith("> {")]
    assert {json.loads(line)["method"] for line in sent} == set(NEEDED)
    rows = " ".join(line.partition("|")[2].partition("|")[0] for line in PAGE.splitlines() if "|" in line)
    fields = {name for of_method in (NEEDED, ALLOWED) for checks in of_method.values() for name in checks}
    assert {name for name in fields if f"`{name}`" not in rows} == {"terminate_id"}


def test_programs_are_told_what_the_page_says():
    (line,) = re.findall(r'^> (.*"time_limit": 30.*"seed".*)$', "".join(BLOCKS), re.MULTILINE)
    assert set(json.loads(line)) == {"id", "method", "time_limit", *query_of(Game(seed=1), 1)}

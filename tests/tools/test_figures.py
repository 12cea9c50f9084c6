"""Figures of the pages: each table agrees with the files in benchmarks/figures."""

import json
import re

import pytest

from benchmarks import install_sizes
from benchmarks.keeping import MEASURED, figure
from tools import figures

FILES = sorted(path.stem for path in figures.FOLDER.glob("*.json"))
TABLES = sorted(path.stem for path in (figures.FOLDER / "tables").glob("*.md"))


def test_the_pages_say_what_the_files_hold():
    old = [page for page in figures.pages() if figures.filled(text := page.read_text()) != text]
    assert not old, f"python -m tools.figures must fill {old}"


def test_figures_are_newer_than_what_they_measure():
    """An older file is reported and not a failure, because figures need an idle machine."""
    if old := figures.outdated():
        pytest.xfail(f"measure again, with make figures: {', '.join(old)}")


def test_older_files_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FOLDER", tmp_path)
    command = "python benchmarks/engine.py --game patchwork"
    for name, date in (("long_ago", "2020-01-01"), ("to_come", "2999-01-01")):
        file = {"machine": "any", "date": date, "command": command, "figures": {}}
        (tmp_path / f"{name}.json").write_text(json.dumps(file))
    assert list(figures.outdated()) == ["long_ago"]


def test_every_extra_has_its_size():
    template = (figures.FOLDER / "tables" / "install_sizes.md").read_text()
    extras = {install_sizes.NONE, install_sizes.GPU, *install_sizes.extras()}
    assert set(re.findall(r"{install_sizes/(\w+)}", template)) == extras


@pytest.mark.parametrize("name", FILES)
def test_files_say_how_they_were_measured(name):
    for key, one in figures.figures_of(name).items():
        assert {*MEASURED} - {"date"} <= one.keys(), key
        assert re.fullmatch(r"2\d{3}-\d\d-\d\d", one.get("date", "2026-01-01")), key
        assert figures.shown(one, ""), key


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_whole(name):
    head, ruler, *rows = [line for line in figures.table(name).splitlines() if line.startswith("|")]
    assert rows
    assert {line.count("|") for line in (ruler, *rows)} == {head.count("|")}
    assert "{" not in "".join(rows)


@pytest.mark.parametrize(
    ("measured", "part", "text"),
    [
        (figure(0.94, "share", (0.926, 0.951)), "", "94.0% (92.6% to 95.1%)"),
        (figure(4906770, "steps/s"), "", "4.9 million steps/s"),
        (figure(105482, "steps/s"), "number", "110,000"),
        (figure(137_000, "/s"), "", "140,000/s"),
        (figure(0.15, "s"), "", "0.15 s"),
        (figure(0.004, "s"), "", "4 ms"),
        (figure(11.2, "s"), "", "11 s"),
        (figure(4.47, "times"), "", "4.5 times"),
        (figure(85.72, "points", (85.6, 85.9)), "", "85.7 points (85.6 to 85.9)"),
        (figure(52.64, "score", error=0.42), "", "52.64 ± 0.42"),
        (figure(0.9, "share", steps=21_299_200, runs=5), "millions", "21.3"),
        (figure(0.9, "share", games=1000), "games", "1,000"),
    ],
)
def test_figures_as_text(measured, part, text):
    assert figures.shown(measured, part) == text


def test_other_machines_are_marked(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FOLDER", tmp_path)
    figures.figures_of.cache_clear()
    slow = {"machine": "slow", "date": "2026-01-01"}
    known = {"a 1": figure(1, "s"), "a 2": figure(2, "s"), "b": figure(3, "s") | slow}
    file = {"machine": "fast", "date": "2026-01-03", "command": "do it", "figures": known}
    (tmp_path / "mine.json").write_text(json.dumps(file))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "mine.md").write_text("| * | {mine/a *} |\n| b | {mine/b} | {mine/b@command} |\n")
    page = figures.filled("before <!-- figures: mine -->\nold\n<!-- end of figures --> after")
    figures.figures_of.cache_clear()
    assert page.splitlines() == [
        "before <!-- figures: mine -->",
        "| 1 | 1 s |",
        "| 2 | 2 s |",
        r"| b | 3 s \* | do it |",
        "",
        r"Measured on fast, 2026-01-03; \* slow, 2026-01-01.",
        "<!-- end of figures --> after",
    ]

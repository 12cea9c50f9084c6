"""Fills the tables of figures in the pages from benchmarks/figures.

    python -m tools.figures

A page has the table NAME between ``<!-- figures: NAME -->`` and ``<!-- end of figures -->``, made of
``benchmarks/figures/tables/NAME.md``. In that file ``{FILE/FIGURE}`` is a figure of
``benchmarks/figures/FILE.json`` with its unit and its interval; ``{FILE/FIGURE@number}`` is its number alone,
and ``@command``, ``@minutes`` … other facts about it. A line with stars is repeated for each figure whose
name matches. Below the table are the machine and the days on which its figures were measured.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from patchwork_env.core.files import write_text

PROJECT = Path(__file__).parents[1]
FOLDER = PROJECT / "benchmarks" / "figures"
BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
PLACE = re.compile(r"\{([\w-]+)/([^{}@]+)(?:@(\w+))?\}")
MARKS = ("", " *", " †", " ‡")
"""Marks after figures: of the machine that most were measured on, and of others."""

NOT_MEASURED = {"patchwork_env.learning.system", "patchwork_env.core.files"}
"""Modules that benchmarks import to describe the machine and to write files."""

Figure = dict[str, Any]


def two_digits(value: float) -> str:
    """A number with the two digits that repeat from run to run."""
    if value >= 1e6:
        return f"{two_digits(value / 1e6)} million"
    rounded = float(f"{value:.1e}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


UNITS: dict[str, Callable[[float], str]] = {
    "share": "{:.1%}".format,
    "share of whole": "{:.0%}".format,
    "points": "{:.1f} points".format,
    "score": "{:.2f}".format,
    "rating": "{:.0f}".format,
    "times": lambda value: f"{two_digits(value)} times",
    "s": lambda value: f"{two_digits(value)} s" if value >= 0.1 else f"{two_digits(1e3 * value)} ms",
}
"""The formats of units that are not written with two digits and the unit."""


def shown(figure: Figure, part: str) -> str:
    """A figure as text, or a part of it."""
    unit = figure["unit"]
    write = UNITS.get(unit, lambda value: f"{two_digits(value)} {unit}".replace(" /", "/"))
    if part in ("number", "lowest", "highest"):
        return write(figure["value" if part == "number" else part]).partition(f" {unit}")[0]
    if part == "millions":
        return f"{figure['steps'] / 1e6:.1f}"
    if part:
        return f"{figure[part]:,}" if isinstance(figure[part], int) else str(figure[part])
    if "error" in figure:
        return f"{write(figure['value'])} ± {write(figure['error'])}"
    if "interval" not in figure:
        return write(figure["value"])
    low, high = (write(end).partition(f" {unit}")[0] for end in figure["interval"])
    return f"{write(figure['value'])} ({low} to {high})"


@cache
def figures_of(name: str) -> dict[str, Figure]:
    """The figures of a file, each with its machine, date and command, where they are known."""
    file: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return {key: file | one for key, one in file.pop("figures").items()}


def lines_of(template: str) -> Iterator[str]:
    """The lines of a template, those with stars repeated."""
    for line in template.splitlines():
        star = next((place for place in PLACE.finditer(line) if "*" in place[2]), None)
        if star is None:
            yield line
            continue
        fits = re.compile(re.escape(star[2]).replace(r"\*", "(.+)"))
        found = [match[1] for key in figures_of(star[1]) if (match := fits.fullmatch(key))]
        yield from (line.replace("*", name) for name in found)


def table(name: str) -> str:
    """A table as Markdown, with where and when its figures were measured."""
    template = (FOLDER / "tables" / f"{name}.md").read_text(encoding="utf-8").strip()
    lines = list(lines_of(template))
    used = [figures_of(place[1])[place[2]] for line in lines for place in PLACE.finditer(line)]
    machines = [figure["machine"] for figure in used if "machine" in figure]
    ranked = sorted(dict.fromkeys(machines), key=lambda machine: -machines.count(machine))
    marks = dict(zip(ranked, MARKS, strict=False))

    def fill(place: re.Match[str]) -> str:
        figure, part = figures_of(place[1])[place[2]], place[3] or ""
        mark = marks.get(figure.get("machine", ""), "") if part in ("", "number") else ""
        return shown(figure, part) + mark.replace("*", r"\*")

    filled = "\n".join(PLACE.sub(fill, line) for line in lines)
    return f"{filled}\n\n{measured(used, marks)}\n" if marks else f"{filled}\n"


def measured(used: list[Figure], marks: dict[str, str]) -> str:
    """A sentence about machines and days."""
    parts = []
    for machine, mark in marks.items():
        days = sorted({one["date"] for one in used if one.get("machine") == machine and "date" in one})
        when = f", {' to '.join(dict.fromkeys([days[0], days[-1]]))}" if days else ""
        parts.append(f"{mark.replace('*', chr(92) + '*').strip()} {machine}{when}".strip())
    return f"Measured on {'; '.join(parts)}."


def pages() -> list[Path]:
    """All pages that may have tables."""
    return [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """The text of a page with its tables as they must be."""
    return BLOCK.sub(lambda block: f"{block[1]}{table(block[2])}{block[3]}", text)


def outdated() -> dict[str, str]:
    """Return the files of figures that are older than their code, with the day of its last change.

    That code is the benchmark and the modules of the package that it imports.
    """
    found = {}
    for path in sorted(FOLDER.glob("*.json")):
        file = json.loads(path.read_text(encoding="utf-8"))
        if script := re.search(r"benchmarks/\w+\.py", file["command"]):
            text = (PROJECT / script[0]).read_text(encoding="utf-8")
            modules = set(re.findall(r"^from (patchwork_env\S*) import", text, re.MULTILINE)) - NOT_MEASURED
            code = [f"{module.replace('.', '/')}{end}" for module in modules for end in ("", ".py")]
            log = ["git", "log", "-1", "--format=%cs", "--", script[0], *code]
            changed = subprocess.run(
                log, cwd=PROJECT, capture_output=True, text=True, check=True
            ).stdout.strip()
            if file["date"] < changed:
                found[path.stem] = changed
    return found


def main() -> None:
    """Fills the tables of all pages, and prints the pages that have changed."""
    for page in pages():
        if (new := filled(old := page.read_text(encoding="utf-8"))) != old:
            write_text(page, new)
            print(f"{page.relative_to(PROJECT)} is written")


if __name__ == "__main__":
    main()

"""Stores the figures of benchmarks in benchmarks/figures, from which ``tools/figures.py`` makes tables.

A file NAME.json has the machine, the date and the command of its last measurement, and its figures by name. A
figure has a value, a unit and, if known, an interval. A figure of another measurement also has its own
machine, date or command.
"""

import argparse
import datetime
import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patchwork_env.core.files import write_text
from patchwork_env.learning.system import describe_machine

FOLDER = Path(__file__).with_name("figures")
MEASURED = ("machine", "date", "command")
"""The facts about the measurement of a file, and of a figure where they differ."""
_DIGITS = 6

Figures = dict[str, dict[str, Any]]


def add_write_option(parser: argparse.ArgumentParser) -> None:
    """Adds ``--write``, whose value is the folder for :func:`keep`, or None."""
    parser.add_argument(
        "--write",
        type=Path,
        nargs="?",
        const=FOLDER,
        metavar="DIR",
        help="keep the figures in DIR (default: benchmarks/figures), for the pages",
    )


def figure(
    value: float, unit: str, interval: tuple[float, float] | None = None, **more: Any
) -> dict[str, Any]:
    """A figure; ``tools/figures.py`` has the units."""
    ends = {"interval": [_rounded(end) for end in interval]} if interval else {}
    return {"value": _rounded(value), "unit": unit, **ends, **more}


def of_unit(unit: str, values: Mapping[str, float]) -> Figures:
    """Several figures of one unit."""
    return {name: figure(value, unit) for name, value in values.items()}


def keep(name: str, figures: Figures, folder: Path) -> None:
    """Writes figures into ``NAME.json`` of a folder; other figures in the file stay."""
    command = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *_without_write(sys.argv[1:])])
    now = dict(zip(MEASURED, (describe_machine(), datetime.date.today().isoformat(), command), strict=True))
    write(name, now, figures, folder)


def write(name: str, now: dict[str, str], figures: Figures, folder: Path) -> None:
    """Writes figures as :func:`keep` does; ``now`` has their machine, date and command."""
    path, known = folder / f"{name}.json", Figures()
    if path.is_file():
        old = json.loads(path.read_text(encoding="utf-8"))
        header = {key: old[key] for key in MEASURED if key in old}
        for key, one in old["figures"].items():
            about = header | {part: one[part] for part in MEASURED if part in one}
            own = {part: value for part, value in one.items() if part not in MEASURED}
            known[key] = own | {part: value for part, value in about.items() if value != now.get(part)}
    folder.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps({**now, "figures": known | figures}, indent=1, ensure_ascii=False) + "\n")
    print(f"kept in {path}")


def _without_write(arguments: list[str]) -> list[str]:
    return [word for word in arguments if not word.startswith("--write") and word != "--json"]


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")

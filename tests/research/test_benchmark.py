"""The benchmark of placers runs as documented, on few runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks/placement.py"), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_rows_figures_and_picture(tmp_path: Path) -> None:
    picture = tmp_path / "areas.png"
    rows = ["All-First", "All-PlacementRegret", "Beam-32", "Beam"]
    done = run("--runs", "40", "--rows", *rows, "--picture", str(picture), "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert list(figures) == rows
    for name, published in (("All-First", 76.61), ("All-PlacementRegret", 78.40)):
        area = figures[name]["area"]
        assert area["published"] == published
        assert abs(area["mean"] - published) < 4 * (area["standard_error"] ** 2 + 0.09**2) ** 0.5
        assert abs(area["difference"]) < abs(area["strict_difference"])
    assert "published" not in figures["Beam"]["area"]
    assert figures["Beam"]["full"] >= figures["Beam-32"]["full"] > figures["All-PlacementRegret"]["full"]
    assert all(row["milliseconds_per_tile"] > 0 for row in figures.values())
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_what_it_refuses() -> None:
    for arguments, message in (
        (["--runs", "0"], "--runs is 0"),
        (["--rows", "Beam", "--picture", "areas.png"], "needs the rows All-First, All-PlacementRegret, Beam"),
    ):
        done = run(*arguments)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr

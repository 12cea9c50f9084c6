"""The experiment runs as documented, on few runs."""

import json

import pytest

from tests.scripts import run_study

pytestmark = pytest.mark.slow


def test_rows_figures_and_picture(tmp_path):
    picture = tmp_path / "areas.png"
    rows = ["All-First", "All-PlacementRegret", "Beam-32", "Beam"]
    done = run_study("placement", "--runs", "40", "--rows", *rows, "--picture", str(picture), "--json")
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


def test_what_it_refuses():
    for arguments, message in (
        (["--runs", "0"], "--runs is 0"),
        (["--rows", "Beam", "--picture", "areas.png"], "needs the rows All-First, All-PlacementRegret, Beam"),
    ):
        done = run_study("placement", *arguments)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr

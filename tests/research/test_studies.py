"""The studies run as documented, on small inputs."""

import json

import pytest

from tests.scripts import ROOT, run_study

pytestmark = pytest.mark.slow


def test_likely_placements():
    done = run_study("likely_placements", "--games", "2", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["choices"] > 50
    by_joints, compact = figures["most_joints"], figures["most_compact"]
    assert list(by_joints) == list(compact) == ["1", "2", "4", "8", "16"]
    assert by_joints["16"] == compact["16"] < compact["4"] < by_joints["4"]
    done = run_study("likely_placements", "--value", str(ROOT / "docs"))
    assert done.returncode == 2
    assert "docs" in done.stderr.splitlines()[-1]


def test_champion_games(tmp_path):
    picture = tmp_path / "values.png"
    done = run_study("champion_games", "--games", "30", "--picture", str(picture), "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert set(figures["variants"]) == {"revised", "2014"}
    for figure in figures["variants"].values():
        assert figure["games"] == 30
        assert figure["winner_score"] > figure["loser_score"]
        assert 0 < figure["first_player_wins"][0] < 1
    worths = {row["patch"]: row["worth"][1] for row in figures["patches"]}
    assert len(worths) == 33
    assert max(worths, key=lambda patch: worths[patch] or 0.0) == 20
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_nmbr9_spread():
    done = run_study("nmbr9_spread", "--random", "300", "--greedy", "100", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["random"]["mean_score"] < 5 < 40 < figures["greedy"]["mean_score"] < 65
    assert figures["greedy"]["largest_spread"] < figures["random"]["largest_spread"] < 59

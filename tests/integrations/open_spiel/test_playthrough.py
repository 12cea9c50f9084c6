"""Playthroughs of OpenSpiel, compared with stored ones.

Record them again after an intended change:
``python -m tests.integrations.open_spiel.test_playthrough --record``.
"""

import gzip
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspiel")

from open_spiel.python.algorithms.generate_playthrough import playthrough_lines

from tests.integrations.open_spiel.cases import load

pytestmark = pytest.mark.libraries

FOLDER = Path(__file__).parent / "playthroughs"
GAMES = {"patchwork": "python_patchwork", "nmbr9": "python_nmbr9(players=2,deck_size=2,max_digit=1)"}


def playthrough(name):
    """Return the playthrough of random actions with a fixed seed."""
    load(name)
    return "\n".join(playthrough_lines(name, seed=7)) + "\n"


@pytest.mark.parametrize("game", GAMES)
def test_playthroughs_are_those_that_are_kept(game):
    kept = gzip.decompress((FOLDER / f"{game}.txt.gz").read_bytes()).decode()
    assert playthrough(GAMES[game]).splitlines() == kept.splitlines()


if __name__ == "__main__" and "--record" in sys.argv:
    for game, name in GAMES.items():
        (FOLDER / f"{game}.txt.gz").write_bytes(gzip.compress(playthrough(name).encode(), 9, mtime=0))

"""Figures of the games of an iteration, and the learner's results against its past selves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env.games import PATCHWORK, rules_of
from patchwork_env.integrations.rllib.league import Finished
from patchwork_env.nmbr9 import engine as nmbr9
from patchwork_env.patchwork import engine as patchwork
from patchwork_env.patchwork.figures import statistics_of_games

States = npt.NDArray[np.void]


def statistics(game: str, finished: Sequence[Finished]) -> dict[str, float]:
    """Mean figures of games that have ended; empty without any.

    They are those of ``statistics_of_games`` in Patchwork, and ``score`` and ``levels`` of a player in
    NMBR 9; and ``turns_per_game`` in both.
    """
    if not finished:
        return {}
    finals = _finals(game, finished)
    lengths = {"turns_per_game": float(np.mean([one.turns for one in finished]))}
    if game == PATCHWORK:
        return statistics_of_games(finals) | lengths
    players = int(finals[0]["num_players"])
    scores = [[nmbr9.score(finals, i, player) for player in range(players)] for i in range(len(finals))]
    levels = 1 + finals["level"][:, :players].max(2)
    return {"score": float(np.mean(scores)), "levels": float(levels.mean())} | lengths


def league_results(game: str, finished: Sequence[Finished]) -> tuple[dict[int, float], dict[int, float]]:
    """The games that the learner won, a tie counting as half a win, and all games; both by snapshot.

    With more than two players the learner wins if it beats the best of the others.
    """
    wins: defaultdict[int, float] = defaultdict(float)
    games: defaultdict[int, float] = defaultdict(float)
    finals = _finals(game, finished)
    for i, one in enumerate(finished):
        if one.seats.slot >= 0:
            games[one.seats.snapshot] += 1
            wins[one.seats.snapshot] += _share_of_win(game, finals, i, one.seats.seat)
    return wins, games


def _share_of_win(game: str, finals: States, i: int, seat: int) -> float:
    if game == PATCHWORK:
        return float(patchwork.winner(finals, i) == seat)
    players = range(int(finals[i]["num_players"]))
    own, rival = nmbr9.score(finals, i, seat), max(nmbr9.score(finals, i, p) for p in players if p != seat)
    return float((1 + np.sign(own - rival)) / 2)


def _finals(game: str, finished: Sequence[Finished]) -> Any:
    return np.frombuffer(b"".join(one.state for one in finished), rules_of(game).dtype)

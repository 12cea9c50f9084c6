"""OpenSpiel's Monte Carlo tree search plays a whole game against an agent of this package.

    pip install ".[open_spiel,train]"
    python examples/open_spiel_mcts.py
    python examples/open_spiel_mcts.py --simulations 2000 --opponent greedy --seed 3
    python examples/open_spiel_mcts.py --game nmbr9

Both games are games of OpenSpiel as soon as ``patchwork_env.integrations.open_spiel`` is imported. The search
is OpenSpiel's own, compiled, with random playouts to the end of the game; it knows only the rules. The circle
of Patchwork is that of the seed. In NMBR 9 chance turns the cards, and no player knows the next one.

What to expect: random playouts say little about the value of a placement. With 200
simulations per move, about a second of one core for the whole game, it beats random play and loses against
the champion.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pyspiel

import patchwork_env.integrations.open_spiel as open_spiel

GAMES = {"patchwork": "python_patchwork(seed={})", "nmbr9": "python_nmbr9(players=2)"}
OPPONENTS = {"patchwork": "champion:instant", "nmbr9": "nmbr9_champion:instant"}
EXPLORATION, PLAYOUTS, MOST_MEGABYTES = 1.4, 1, 200


def make_search(game: Any, simulations: int, seed: int) -> Any:
    """Return OpenSpiel's search, with its usual constants."""
    evaluator = pyspiel.RandomRolloutEvaluator(PLAYOUTS, seed)
    solve, verbose = False, False
    return pyspiel.MCTSBot(game, evaluator, EXPLORATION, simulations, MOST_MEGABYTES, solve, seed, verbose)


def play(state: Any, search: Any, opponent: Any, seed: int) -> None:
    """Play a game to its end, with the search as player 0, and print the moves.

    ``pyspiel.evaluate_bots`` does the same silently. ``search.step`` would crash: it
    releases the GIL, which games in Python need.
    """
    rng = np.random.default_rng(seed)
    while not state.is_terminal():
        player = state.current_player()
        if state.is_chance_node():
            outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
            action = int(rng.choice(outcomes, p=probabilities))
        elif player == 0:
            action = search.mcts_search(state).best_child().action
        else:
            action = opponent.step(state)
        print(state.action_to_string(player, action), end=" ", flush=True)
        state.apply_action(action)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description="OpenSpiel's MCTS against an agent.")
    parser.add_argument("--game", choices=GAMES, default="patchwork", help="(default: %(default)s)")
    parser.add_argument("--simulations", type=int, default=200, help="for each move (default: %(default)s)")
    parser.add_argument("--opponent", help=f"a spec (default: {' or '.join(OPPONENTS.values())})")
    parser.add_argument("--seed", type=int, default=7, help="of the game and players (default: %(default)s)")
    arguments = parser.parse_args()
    game = pyspiel.load_game(GAMES[arguments.game].format(arguments.seed))
    search = make_search(game, arguments.simulations, arguments.seed)
    spec = arguments.opponent or OPPONENTS[arguments.game]
    opponent = open_spiel.bot(spec, player_id=1, seed=arguments.seed)
    state = game.new_initial_state()
    play(state, search, opponent, arguments.seed)
    (mine, theirs), (returned, _) = state.position().scores(), state.returns()
    result = "wins against" if returned > 0 else "loses against" if returned < 0 else "ties with"
    print(f"MCTS with {arguments.simulations} simulations {result} {spec}, {mine} to {theirs}")


if __name__ == "__main__":
    main()

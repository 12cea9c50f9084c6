"""Games of OpenSpiel with many parameters, and random play."""

import numpy as np
import pyspiel

import patchwork_env.integrations.open_spiel as open_spiel

CIRCLE = "25 17 12 29 14 27 20 13 26 24 3 1 11 9 7 23 19 4 30 10 16 8 15 22 18 6 5 21 2 32 28 31 0"
PATCHWORK = [
    "python_patchwork",
    "python_patchwork(seed=7)",
    f"python_patchwork(circle={CIRCLE},first_player=1)",
    "python_patchwork(seed=3,first_player=1,special_patches=edition2014)",
    "python_patchwork(seed=3,rewards=margin)",
    "python_patchwork(first_player=1,rewards=score)",
]
NMBR9 = [
    "python_nmbr9",
    "python_nmbr9(players=2)",
    "python_nmbr9(players=3,rewards=margin,deck_size=12)",
    "python_nmbr9(players=4,order=known,deck_size=8)",
    "python_nmbr9(order=known)",
    "python_nmbr9(players=3,order=free,copies=1)",
    "python_nmbr9(order=free,max_digit=5)",
    "python_nmbr9(seed=4)",
    "python_nmbr9(seed=4,order=known,players=2,deck_size=7)",
    "python_nmbr9(deck=4 7 3,players=2,rewards=score)",
    "python_nmbr9(deck=4 )",
]
GAMES = [*PATCHWORK, *NMBR9]


def states_of_a_game(game, seed):
    """Yield a state at the start and after each random action, up to the end."""
    rng, state = np.random.default_rng(seed), game.new_initial_state()
    yield state
    while not state.is_terminal():
        state.apply_action(any_action(state, rng))
        yield state


def any_action(state, rng):
    if not state.is_chance_node():
        return int(rng.choice(state.legal_actions()))
    outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
    return int(rng.choice(outcomes, p=probabilities))


def load(name):
    assert open_spiel.bot  # the import registers the games
    return pyspiel.load_game(name)

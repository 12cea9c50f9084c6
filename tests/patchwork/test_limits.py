"""No sequence of legal moves leads from a state that is let in beyond what its fields can hold."""

import numpy as np

from patchwork_env.patchwork.components import LAST_SPACE, PATCHES, START_BUTTONS
from patchwork_env.patchwork.observation import BUTTONS_FEATURE, LAYOUT, as_dict
from patchwork_env.patchwork.rules import most_buttons
from patchwork_env.patchwork.state import STATE
from patchwork_env.patchwork.tables import INCOMES_UP_TO

ALL_INCOME = sum(patch.income for patch in PATCHES)
SPACES = np.arange(LAST_SPACE + 1)


def test_the_most_buttons_have_room():
    """At the last space with all income there are 400, and records and observations hold more."""
    most = most_buttons(LAST_SPACE, ALL_INCOME)
    assert most == START_BUTTONS + LAST_SPACE + 9 * ALL_INCOME == 400
    assert most < np.iinfo(STATE["buttons"].base).max
    assert most <= 32 * as_dict(LAYOUT.upper_bounds)["players"][:, BUTTONS_FEATURE].min()
    assert max(ALL_INCOME, LAST_SPACE + max(patch.time for patch in PATCHES)) <= np.iinfo(np.uint8).max


def test_no_move_leads_beyond_the_most_buttons():
    """Whatever a move gains at most, the bound rises by as much: it holds after the move if it did before."""
    for income in range(ALL_INCOME + 1):
        for old in SPACES:
            marks = INCOMES_UP_TO[old:].astype(int) - INCOMES_UP_TO[old]
            room = np.array([most_buttons(new, income) for new in SPACES[old:]]) - most_buttons(old, income)
            assert (room >= SPACES[old:] - old + marks * income).all(), "advancing"
        for patch in PATCHES:
            richer = income + patch.income
            if richer <= ALL_INCOME:
                for old in SPACES:
                    new = min(old + patch.time, LAST_SPACE)
                    gain = int(INCOMES_UP_TO[new] - INCOMES_UP_TO[old]) * richer - patch.buttons
                    room = most_buttons(new, richer) - most_buttons(old, income)
                    assert room - patch.buttons >= gain, "buying; the price is gone for both players together"

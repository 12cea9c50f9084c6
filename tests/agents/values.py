"""A simple value for tests."""

from patchwork_env.agents.compiled import aligned_records, arrays_of
from patchwork_env.agents.patchwork.value import features
from patchwork_env.agents.patchwork.value.network import OWN_SCORE, SCALES, WEIGHTS, WIN
from patchwork_env.patchwork.components import LAST_SPACE

_LIFT = 300.0
"""A bias that keeps all units above 0, where the network is linear."""
_UNIT = 32
"""The points per unit; all values stay in the range of units."""
_POINTS_PER_SPACE = 1.5


def simple_weights():
    """A value made by hand: the projected margin, and a price for every space that a player has moved."""
    weights = aligned_records(WEIGHTS)
    arrays = arrays_of(weights)
    for margin in range(-features._MARGINS, features._MARGINS + 1):
        arrays["features"][features._MARGIN + features._MARGINS + margin, 0] = margin / _UNIT
    for space in range(LAST_SPACE + 1):
        arrays["features"][features._POSITION + space, 0] = -_POINTS_PER_SPACE * space / _UNIT
        arrays["features"][features._POSITION + LAST_SPACE + 1 + space, 0] = _POINTS_PER_SPACE * space / _UNIT
    arrays["game_bias"][0] = _LIFT / _UNIT
    arrays["weights_2"][0, 0] = 1
    for output, factor in ((OWN_SCORE, 1 / SCALES[OWN_SCORE]), (WIN, 0.1)):
        arrays["weights_3"][0, output] = factor * _UNIT
        arrays["bias_3"][output] = -factor * _LIFT
    return weights

"""Small runs of algorithms whose games workers can play."""

from tests.learning import same_runs
from tests.learning.tiny_runs import TINY_RUNS

TD = TINY_RUNS["td"] + "cluster: {games_per_job: 3}"
SOLO_TD = TINY_RUNS["solo_td"] + "cluster: {games_per_job: 3}"
ALPHAZERO = TINY_RUNS["alphazero"] + "cluster: {games_per_job: 7}"
CONFIGS = {"td": TD, "solo_td": SOLO_TD, "alphazero": ALPHAZERO}


def state_of(trainer):
    """The comparable state of a trainer without the games in flight."""
    values, arrays = same_runs.state_of(trainer)
    values.pop("in_flight", None)
    return values, {name: array for name, array in arrays.items() if not name.startswith("in_flight")}

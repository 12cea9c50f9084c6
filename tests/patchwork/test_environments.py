"""The environments of Patchwork: what is special to the game; ``tests/envs`` has what all games do."""

from functools import partial
from pathlib import Path

import pytest

from patchwork_env import patchwork_v0
from patchwork_env.patchwork_v0 import PatchworkEnv, PatchworkVectorEnv, SelfPlayBatch

CIRCLE = [*range(32, 0, -1), 0]


def test_wrong_options():
    batches = [partial(kind, 2) for kind in (PatchworkVectorEnv, SelfPlayBatch)]
    for options, message in (
        ({"special_patches": 2014}, "special_patches is 2014"),
        ({"first_player": "player_0"}, "'player_0'; allowed are 'random'"),
        ({"first_player": -1}, "first_player is -1"),
    ):
        for make in (patchwork_v0.env, patchwork_v0.raw_env, PatchworkEnv, *batches):
            with pytest.raises(ValueError, match=message):
                make(**options)
    for options, message in (
        ({"cirle": CIRCLE}, "did you mean 'circle'"),
        ({"circle": [*CIRCLE[1:], 32]}, "must end in patch 0"),
        ({"first_player": 2}, "first_player is 2"),
    ):
        for env in (patchwork_v0.raw_env(), PatchworkEnv(), PatchworkVectorEnv(2)):
            with pytest.raises(ValueError, match=message):
                env.reset(options=options)
    for opponent in ("greddy", 5, Path("runs/nothing")):
        with pytest.raises((ValueError, FileNotFoundError), match=str(opponent)):
            PatchworkEnv(opponent)  # type: ignore[arg-type]


def test_a_circle_from_chance_and_a_given_one_take_as_many_random_numbers():
    env, other = patchwork_v0.raw_env(first_player="random"), patchwork_v0.raw_env(first_player="random")
    env.reset(seed=1)
    other.reset(seed=1, options={"circle": CIRCLE})
    env.reset()
    other.reset()
    assert env.game == other.game

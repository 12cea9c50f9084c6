"""The example for mctx: it trains, keeps its weights, and is measured. Runs by ``make test-jax``."""

import pytest

pytest.importorskip("flax")
pytest.importorskip("mctx")
pytest.importorskip("optax")
pytestmark = pytest.mark.jax


def test_it_trains_saves_and_measures(start, tmp_path):
    sizes = ["--envs", "27", "--turns", "19", "--simulations", "4", "--games", "2"]  # 513 turns
    printed = start("mctx_alphazero.py", *sizes, "--minutes", "0.001", "--out", "weights")
    assert "iteration 1" in printed
    again = start("mctx_alphazero.py", *sizes, "--minutes", "0", "--load", "weights")
    assert "iteration" not in again
    matches = printed[printed.index("act against random") :]
    assert again.endswith(matches)  # the weights play as they did


def test_rewards_with_their_signs_add_up_to_the_margin():
    import jax
    import numpy as np

    from examples import mctx_alphazero as example

    step = jax.jit(jax.vmap(example.ENV.step))
    state = jax.vmap(example.ENV.init)(jax.random.split(jax.random.key(0), 8))
    first = state.current_player
    sign, margin = np.ones(8), np.zeros(8)  # as the player sees it who begins
    while not state.terminated.all():
        after = step(state, np.asarray(state.legal_action_mask).argmax(-1))
        reward, discount = example.reward_and_discount(state, after)
        margin += sign * reward
        sign *= discount  # 0 after the end
        goes_on = np.asarray(~after.terminated)
        assert (sign == np.where(after.current_player == first, 1, -1))[goes_on].all()
        state = after
    scores = np.array([game.scores() for game in state.games()])
    expected = (scores[:, 0] - scores[:, 1]) * np.where(first == 0, 1, -1)
    np.testing.assert_allclose(margin * example.POINTS, expected, atol=1e-3)

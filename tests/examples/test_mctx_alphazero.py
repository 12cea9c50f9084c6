"""The example for mctx: it trains, keeps its weights, and is measured. Runs by ``make test-jax``."""

import pytest

pytest.importorskip("flax")
pytest.importorskip("mctx")
pytest.importorskip("optax")
pytestmark = pytest.mark.jax


def test_it_trains_saves_and_measures(start, tmp_path):
    sizes = ["--envs", "4", "--turns", "8", "--simulations", "4", "--games", "2"]
    printed = start("mctx_alphazero.py", *sizes, "--minutes", "0.001", "--out", "weights")
    assert "iteration 1" in printed
    again = start("mctx_alphazero.py", *sizes, "--minutes", "0", "--load", "weights")
    assert "iteration" not in again
    matches = printed[printed.index("act against random") :]
    assert again.endswith(matches)  # the weights play as they did


def test_values_change_their_sign_with_the_player():
    import jax
    import numpy as np

    from examples import mctx_alphazero as example

    step = jax.jit(jax.vmap(example.ENV.step))
    state = jax.vmap(example.ENV.init)(jax.random.split(jax.random.key(0), 8))
    while not state.terminated.all():
        after = step(state, np.asarray(state.legal_action_mask).argmax(-1))
        reward, discount = example.reward_and_discount(state, after)
        same = np.asarray(state.current_player == after.current_player)
        over, goes_on = np.asarray(after.terminated & ~state.terminated), np.asarray(~after.terminated)
        assert (np.asarray(discount)[goes_on] == np.where(same, 1, -1)[goes_on]).all()
        assert not np.asarray(discount)[over].any()
        assert not np.asarray(reward)[goes_on].any()
        assert (np.abs(np.asarray(reward)[over]) <= 1).all()
        state = after

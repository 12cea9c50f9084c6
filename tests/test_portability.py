"""Results are the same without instructions of new processors and without internals of Numba.

A process of its own runs ``print_vectors`` or ``play_without_internals``.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import config

PROJECT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(config.DISABLE_JIT, reason="looks at machine code")]


def printed(function, **variables):
    """The lines that a function of this module prints in a new process with some environment variables."""
    code = f"from tests.test_portability import {function.__name__} as run; run()"
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def print_vectors():
    """Prints what vector registers compute: sums, unpacked bits, and the anchors of patches and tiles."""
    import numpy as np

    from patchwork_env.agents.layers import product_adder, rows_adder
    from patchwork_env.core.compile import kernel
    from patchwork_env.core.intrinsics import unpack_bits
    from patchwork_env.nmbr9 import Game as Nmbr9
    from patchwork_env.patchwork import Game

    add_products, add_rows = product_adder(64), rows_adder(64)

    @kernel
    def compute(out, matrix, inputs, rows, bits):
        add_products(out, matrix, inputs, len(inputs))
        add_rows(out, matrix, rows, len(rows))
        unpack_bits(bits, 0, np.uint64(0xF0F0))

    out, matrix = np.zeros(64, np.float32), np.arange(640, dtype=np.float32).reshape(10, 64)
    bits = np.zeros(64, np.int8)
    compute(out, matrix, np.arange(10, dtype=np.float32), np.array([1, 7], np.int32), bits)
    (assembly,) = compute.inspect_asm().values()
    games = [Game(seed=1), Nmbr9(seed=1)]
    games[1].play(games[1].legal_actions()[0])
    legal = [game.legal_actions().tolist() for game in games]
    print(out.tolist(), bits.tolist(), legal, "calls fmaf" if "fmaf" in assembly else "")


def play_without_internals():
    """Plays a game of Patchwork and a step of a batch of a small game."""
    import numba.core.typed_passes

    del numba.core.typed_passes.NativeLowering
    from patchwork_env.core import compile
    from patchwork_env.envs.self_play import SelfPlayBatch
    from patchwork_env.patchwork import Game
    from tests.toy import RULES

    print(compile.IS_LINKING)
    game = Game(seed=1)
    while not game.is_over:
        game.play(int(game.legal_actions()[-1]))
    print(game.scores())
    batch = SelfPlayBatch(RULES, 4, seed=7)
    batch.step(batch.random_actions)
    print(batch.masks.shape)


def test_kernels_of_an_old_processor_compute_the_same(tmp_path):
    folder = {"NUMBA_CACHE_DIR": str(tmp_path)}
    (sums,) = printed(print_vectors, **folder)
    assert "fmaf" not in sums
    assert printed(print_vectors, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="", **folder) == [sums]


def test_a_numba_without_the_internals_plays_a_game_and_a_batch():
    assert printed(play_without_internals, NUMBA_OPT="0") == ["False", "(16, -15)", "(4, 23)"]

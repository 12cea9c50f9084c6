"""The rules of Row in the form that the library uses."""

from __future__ import annotations

from patchwork_env.core.rules import Kernels, Rules
from tests.toy import engine
from tests.toy.game import Game, set_up
from tests.toy.observation import LAYOUT, UPPER_BOUNDS, write_observation

RULES = Rules(
    name="row",
    title="Row",
    module=__name__,
    game=Game,
    dtype=engine.STATE,
    kernels=Kernels(
        legal_shape=engine.LEGAL_SHAPE,
        max_players=engine.NUM_PLAYERS,
        is_over=engine.is_over,
        num_players=engine.num_players,
        legal=engine.legal,
        is_legal=engine.is_legal,
        nth_legal=engine.nth_legal,
        write_actions=engine.write_actions,
        write_mask=engine.write_mask,
        apply=engine.apply,
        score=engine.score,
        outcome=engine.outcome,
        deal=engine.deal,
        write_observation=write_observation,
    ),
    num_actions=engine.NUM_ACTIONS,
    max_legal_actions=engine.NUM_ACTIONS,
    layout=LAYOUT,
    upper_bounds=UPPER_BOUNDS,
    set_up=set_up,
    pictures_module="tests.toy.game",
    options={"blocked": 2},
    reset_options=("free",),
    render_modes=("ansi",),
)

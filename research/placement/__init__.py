"""Placing tiles on a quilt: the published experiment with its strategies, and a placer that looks ahead.

Every placer meets the same random orders of the 38 tiles:

>>> from research.placement import BeamPlacer, StrategyPlacer, deal_orders, run_experiment
>>> orders = deal_orders(3, seed=1)
>>> run_experiment(StrategyPlacer("All", "PlacementRegret"), orders).area.tolist()
[80, 79, 78]
>>> run_experiment(BeamPlacer(), orders).area.tolist()
[81, 81, 81]
"""

from __future__ import annotations

from research.placement.beam import STAGES, BeamPlacer, Stage
from research.placement.experiment import (
    NOT_PLACED,
    Outcomes,
    Placer,
    StrategyPlacer,
    deal_orders,
    outcomes,
    run_experiment,
)
from research.placement.shapes import TILE_SETS, cells_at
from research.placement.strategies import EVALUATIONS, POLICIES

__all__ = [
    "EVALUATIONS",
    "NOT_PLACED",
    "POLICIES",
    "STAGES",
    "TILE_SETS",
    "BeamPlacer",
    "Outcomes",
    "Placer",
    "Stage",
    "StrategyPlacer",
    "cells_at",
    "deal_orders",
    "outcomes",
    "run_experiment",
]

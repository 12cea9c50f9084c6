"""Minari: games of any agents as datasets for offline reinforcement learning and for cloning.

>>> import minari
>>> from patchwork_env.integrations.minari import record
>>> record(["champion:instant", "greedy"], 100, "patchwork/champion/greedy-v0")  # doctest: +SKIP
>>> dataset = minari.load_dataset("patchwork/champion/greedy-v0")  # doctest: +SKIP
>>> dataset[0].observations["observation"].shape  # doctest: +SKIP
(24, 307)

An episode has one player's observations, actions and rewards in one game. Needs the extra ``minari``.
"""

from __future__ import annotations

from patchwork_env.core.extras import from_extra

with from_extra("minari", f"{__name__} needs"):
    import minari  # noqa: F401, I001
    import h5py  # noqa: F401
    from PIL import Image  # noqa: F401  # Minari reads no file without it

from patchwork_env.integrations.minari.dataset import MaskedObservation
from patchwork_env.integrations.minari.recording import record

__all__ = ["MaskedObservation", "record"]

"""A player that writes to stdout whenever it moves, as careless agents do."""

from __future__ import annotations

import os
from typing import Any


def player(game: Any) -> int:
    print("hm, let me think …", flush=True)
    os.write(1, b"{not the protocol}\n")
    return int(game.legal_actions()[0])

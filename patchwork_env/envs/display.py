"""The render modes of environments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchwork_env.core.checks import check_one_of
from patchwork_env.core.game import BaseGame
from patchwork_env.core.rules import RENDER_MODES, Rules
from patchwork_env.envs.opponents import Opponent

if TYPE_CHECKING:
    from patchwork_env.drawing import Frame, Window

FRAMES_PER_SECOND = 4  # in the mode ``"human"``

BATCH_RENDER_MODES = tuple(mode for mode in RENDER_MODES if mode != "human")


class Display:
    """Shows games in one render mode. Copies and pickles open another window."""

    def __init__(self, mode: str | None, rules: Rules, of: tuple[str, ...] = RENDER_MODES) -> None:
        modes = [each for each in rules.render_modes if each in of]
        self.mode: str | None = check_one_of(mode, (None, *modes), "render_mode")
        self._rules = rules
        self._window: Window | None = None

    def show(self, game: BaseGame, names: tuple[str, ...]) -> Frame | str | None:
        """Return a game as text or pixels with the players' ``names``; None if it is shown in a window."""
        if self.mode == "ansi":
            return str(game)
        frame: Frame = self._rules.pictures.rgb_array(game, names=names)
        if self.mode == "rgb_array":
            return frame
        if self._window is None:
            from patchwork_env.drawing import Window

            self._window = Window(self._rules.title, FRAMES_PER_SECOND)
        self._window.show(frame)
        return None

    def close(self) -> None:
        """Close the window if there is one; the next :meth:`show` opens another."""
        if self._window is not None:
            self._window.close()
        self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}


def names_of(seat: int, players: int, opponent: Opponent | None) -> tuple[str, ...]:
    """Return the names of the players of a learner's game in drawings."""
    if opponent is None:
        return ("player",)
    return tuple("learner" if player == seat else opponent.name for player in range(players))

"""How strong a language model is: its rating in the gauntlet, with what it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from patchwork_env.core.checks import as_texts
from patchwork_env.integrations.language_models.agent import TextAgent
from patchwork_env.integrations.language_models.dialogue import Complete, Usage
from patchwork_env.learning.evaluation import GauntletResult, play_gauntlet
from patchwork_env.learning.evaluation.gauntlet import LATEST, read_pool


@dataclass(frozen=True)
class ModelRating:
    """How a language model did in the gauntlet: the matches with their rating, and how often it was asked."""

    gauntlet: GauntletResult
    usage: Usage

    @property
    def rating(self) -> float:
        """The rating on the scale of the gauntlet, in Elo points."""
        return self.gauntlet.rating

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The 95% interval of the rating; an end is None if the model won all games, or none."""
        return self.gauntlet.interval

    def table(self) -> str:
        """The matches, the rating and the usage as lines of text."""
        return f"{self.gauntlet.table()}\n{self.usage}"

    def as_dict(self) -> dict[str, Any]:
        """The matches, the rating and the usage as plain data, for JSON."""
        return {**self.gauntlet.as_dict(), "usage": self.usage.as_dict()}


def rate(
    model: TextAgent | Complete,
    games: int | None = 20,
    against: Sequence[str] | None = None,
    *,
    version: int = LATEST,
    **options: Any,
) -> ModelRating:
    """Has a language model play the gauntlet of Patchwork: every circle from both seats, on a fixed scale.

    Args:
        model: A player that asks one, or the function itself.
        games: The most games against each member of the pool, an even number; None for those of the protocol,
            which are thousands.
        against: The specs of the members to meet; None for the whole pool.
        version: The version of the gauntlet.
        options: Further arguments of :func:`~patchwork_env.learning.evaluation.play_gauntlet`, such as
            ``folder``, in which the games are kept, so that a second call goes on where the first was
            stopped.

    Returns:
        The rating with its interval, the matches, and the usage in the games that were played now, by
        whichever workers.

    Raises:
        ValueError, FileNotFoundError, ModuleNotFoundError, IllegalActionError: See
            :func:`~patchwork_env.learning.evaluation.play_gauntlet`.
    """
    player = model if isinstance(model, TextAgent) else TextAgent(model)
    pool = read_pool(version)
    if against is not None:
        met = [pool.member(spec).agent for spec in as_texts(against, "against")]
        options["skip"] = [spec for spec in pool.specs if spec not in met]
    before = player.take_counts()
    try:
        result = play_gauntlet(player, version=version, games=games, **options)
    finally:
        spent = player.take_counts()
        for usage in (before, spent):
            player.add_counts(usage)
    return ModelRating(result, spent)

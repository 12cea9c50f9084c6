"""Language models as players: any function from text to text plays paired games and gets a rating.

>>> from patchwork_env.integrations.language_models import TextAgent, rate
>>> result = rate(lambda prompt: "answer: +", games=2, against=["random", "greedy"])
>>> result.usage.illegal_answers > 0  # where a special patch was to be placed
True
"""

from __future__ import annotations

from patchwork_env.integrations.language_models.agent import TextAgent
from patchwork_env.integrations.language_models.dialogue import Usage
from patchwork_env.integrations.language_models.rating import ModelRating, rate

__all__ = ["ModelRating", "TextAgent", "Usage", "rate"]

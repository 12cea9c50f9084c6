"""What a language model was asked, how it answered, and what that took."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class Usage:
    """Counts over all decisions of a model.

    Attributes:
        decisions: The moves that were asked for.
        calls: The calls of the model: one for each decision, and one more after a question or a bad answer.
        questions: The answers that asked for something, such as placements.
        illegal_answers: The answers that were no legal move and no question.
        retries: The illegal answers after which the model was asked again.
        fallbacks: The moves that another player made, as the model had found no legal one.
        prompt_characters: The characters of all prompts.
        answer_characters: The characters of all answers.
        seconds: The seconds that all calls took, added up over threads.
    """

    decisions: int = 0
    calls: int = 0
    questions: int = 0
    illegal_answers: int = 0
    retries: int = 0
    fallbacks: int = 0
    prompt_characters: int = 0
    answer_characters: int = 0
    seconds: float = 0.0

    def add(self, other: Usage) -> None:
        """Adds the counts of another object."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)

    def as_dict(self) -> dict[str, Any]:
        """The counts by name, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.decisions:,} decisions by {self.calls:,} calls in {self.seconds:.1f} s, "
            f"{self.questions:,} questions, {self.illegal_answers:,} illegal answers, "
            f"{self.fallbacks:,} moves by the fallback; "
            f"{self.prompt_characters:,} characters of prompts and {self.answer_characters:,} of answers"
        )

"""The usage of a language model, which agents return with their actions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Protocol, runtime_checkable

from patchwork_env.agents.base import Actions
from patchwork_env.core.kernels import States


@dataclass
class Usage:
    """Counts over the decisions of a language model."""

    decisions: int = 0  # moves to be chosen
    calls: int = 0  # one for each decision, and one more after each question or bad answer
    questions: int = 0  # answers that are requests, such as for placements
    illegal_answers: int = 0  # answers that are neither a legal move nor a question
    retries: int = 0  # illegal answers after which the model got another call
    fallbacks: int = 0  # moves of the fallback, for lack of a legal one
    prompt_characters: int = 0
    answer_characters: int = 0
    seconds: float = 0.0  # of all calls, added up over threads

    def add(self, other: Usage) -> None:
        """Add the counts of another object."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)

    as_dict = asdict

    def __str__(self) -> str:
        return (
            f"{self.decisions:,} decisions by {self.calls:,} calls in {self.seconds:.1f} s, "
            f"{self.questions:,} questions, {self.illegal_answers:,} illegal answers, "
            f"{self.fallbacks:,} moves by the fallback; "
            f"{self.prompt_characters:,} characters of prompts and {self.answer_characters:,} of answers"
        )


@runtime_checkable
class MeteredAgent(Protocol):
    """An agent whose usage is part of the results of matches."""

    def act_and_count(self, states: States) -> tuple[Actions, Usage]:
        """Return legal actions for many games, as ``act_batch`` does, and the usage that they took."""

"""The talk about one move: prompts that hold everything, questions, bad answers, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import short_repr
from patchwork_env.integrations import text


@dataclass
class Usage:
    """Counts over all decisions of a model."""

    decisions: int = 0  # moves to be chosen
    calls: int = 0  # one for each decision, and one more after each question or bad answer
    questions: int = 0  # answers that are requests, such as for placements
    illegal_answers: int = 0  # answers that are neither a legal move nor a question
    retries: int = 0  # illegal answers after which the model got another call
    fallbacks: int = 0  # moves of another player, for lack of a legal one
    prompt_characters: int = 0
    answer_characters: int = 0
    seconds: float = 0.0  # of all calls, added up over threads

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


Complete = Callable[[str], str]  # a language model: from a prompt to its answer
_REPEATED = 300  # the characters at the end of an answer that later prompts repeat
_TASK = """\
Think first if you like. The last line of your answer is "answer:" with a move, such as "answer: {example}",
and nothing else, or with one of these requests, after which you are asked again:
{requests}"""


@dataclass
class Decision:
    """How a model came to a move."""

    prompt: str  # the first one
    exchange: list[dict[str, str | None]] = field(default_factory=list)  # answers with replies
    action: int | None = None  # None if no legal one was named
    usage: Usage = field(default_factory=lambda: Usage(decisions=1))

    @property
    def last_answer(self) -> str | None:
        """The last of the answers."""
        return self.exchange[-1]["answer"]


def decide(game: BaseGame, complete: Complete, retries: int, questions: int) -> Decision:
    """Asks a model for a move until it names a legal one, or has had all of its tries."""
    task = _task(game)
    prompt = "\n\n".join([text.rules(game), text.describe(game), text.moves_text(game), task])
    decision = Decision(prompt)
    usage = decision.usage
    while decision.action is None and usage.illegal_answers <= retries:
        answer = _ask(complete, prompt, usage)
        try:
            decision.action, reply = _read(game, answer, usage, questions)
        except ValueError as error:
            usage.illegal_answers += 1
            reply = f"No legal move: {error}"
        decision.exchange.append({"answer": answer, "reply": reply})
        prompt = f"{prompt}\n\nYour answer:\n{answer.strip()[-_REPEATED:]}\n\n{reply}\n\n{task}"
    usage.retries = min(usage.illegal_answers, retries)
    return decision


def _task(game: BaseGame) -> str:
    example = next(group.example.word for group in text.moves(game) if group.example)
    return _TASK.format(example=example, requests=text.requests_text(game))


def _ask(complete: Complete, prompt: str, usage: Usage) -> str:
    began = time.perf_counter()
    answer: Any = complete(prompt)
    usage.seconds += time.perf_counter() - began
    if not isinstance(answer, str):
        raise ValueError(f"a language model answers with text, not with {short_repr(answer)}")
    usage.calls += 1
    usage.prompt_characters += len(prompt)
    usage.answer_characters += len(answer)
    return answer


def _read(game: BaseGame, answer: str, usage: Usage, most: int) -> tuple[int | None, str | None]:
    """The action that an answer chooses, or else the reply to its request."""
    if not text.is_request(answer):
        return text.parse(game, answer), None
    if usage.questions == most:
        raise ValueError(f"all {most} requests are used up; the answer must be a move")
    reply = text.ask(game, answer)
    usage.questions += 1
    return None, reply

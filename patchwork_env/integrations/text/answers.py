"""What an answer of a language model comes to, whatever it has thought, explained, marked and wrapped."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_CHARACTERS = 4000  # the number of characters at the end of an answer that are read
_THOUGHT = "(?:(?:seed:)?think|thinking|thoughts?|reasoning|analysis|reflection|scratchpad)"
_THINKS = re.compile(
    rf"<{_THOUGHT}(?:\s[^<>]*)?>|\[think\]|◁think▷|<\|(?:start_thinking|begin_of_thought)\|>", re.IGNORECASE
)
_HAS_THOUGHT = re.compile(
    rf"</{_THOUGHT}\s*>|\[/think\]|◁/think▷|<\|(?:end_thinking|end_of_thought)\|>", re.IGNORECASE
)
_ENCLOSED = re.compile(
    r"""<(?:answer|move|action)>([^<]*)|\\boxed\{([^}]*)"""
    r"""|["'](?:answer|move|action|request)["']\s*:\s*["']([^"']*)"""
)
"""Answers in tags, in the frames of LaTeX, and as entries of JSON."""
_MARKUP = re.compile(r"```[a-z]*\n|<[/|]?\w+[|]?>|\\[a-z]+\{|\*\*|[`${}]")
_LABEL = re.compile(
    r"\b(?:move|answer|action)(?: is)? ?:|\b(?:my|the|best|final) (?:move|answer|action) is\b"
)
_AROUND = " \t\"'()[]<>.!,"  # what may stand around a move and belongs to none
_ALIKE = str.maketrans({"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\N{FULLWIDTH COLON}": ":"})


class Answer(NamedTuple):
    """An answer in lower case, with single spaces, without thoughts and marks."""

    labelled: str  # behind the last label, such as ``Move:``, or on the line after it
    last: str  # the last line
    whole: str  # all lines

    @property
    def final(self) -> str:
        """What stands behind the last label or, without one, on the last line."""
        return self.labelled or self.last


def read_answer(text: str) -> Answer:
    """Reads an answer. Thoughts, up to ``</think>`` or its like or from ``<think>`` on, do not count."""
    answer = _THINKS.split(_HAS_THOUGHT.split(text)[-1])[0][-MOST_CHARACTERS:].lower().translate(_ALIKE)
    answer = answer.replace(r"\/", "/")  # as JSON may write it
    answer = _ENCLOSED.sub(lambda found: f"\nanswer: {found[found.lastindex or 0]}\n", answer)
    lines = [line for line in map(_plain, _MARKUP.sub(" ", answer).splitlines()) if line]
    labelled = ""
    for number, line in enumerate(lines, 1):
        if _LABEL.search(line):
            labelled = _LABEL.split(line)[-1].strip(_AROUND) or "".join(lines[number : number + 1])
    return Answer(labelled, lines[-1] if lines else "", "\n".join(lines))


def _plain(line: str) -> str:
    return re.sub(r" ?([/@]) ?", r"\1", " ".join(line.split())).strip(_AROUND)

"""What a model says, without its thoughts and without what it is wrapped in, as lines of plain text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from patchwork_env.integrations.text import words

MOST_CHARACTERS = 4000  # the number of characters at the end of an answer that are read
_THOUGHT = r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning|analysis|reflection|scratchpad)"
_THINKS = re.compile(
    rf"<{_THOUGHT}(?:\s[^<>]*)?>|\[think\]|◁think▷|<\|(?:start_thinking|begin_of_thought|inner_prefix)\|>"
    r"|<\|channel\|?>(?:analysis|thought)\b|\A\s*analysis(?=[A-Z])",
    re.IGNORECASE,
)
_HAS_THOUGHT = re.compile(
    rf"</{_THOUGHT}\s*>|\[/think\]|◁/think▷|<\|(?:end_thinking|end_of_thought|inner_suffix)\|>"
    r"|<\|channel\|>(?:final|commentary)[^<]*(?:<\|constrain\|>\w+)?<\|message\|>|<channel\|>|assistantfinal",
    re.IGNORECASE,
)
_ENDS_TURN = re.compile(
    r"</s>|<\|?(?:im_end|eot_id|end_of_turn|endoftext|end|return|call)\|?>", re.IGNORECASE
)
_QUOTED = re.compile(r"^\s*>.*$|~~.*?~~", re.MULTILINE)
_ENCLOSED = re.compile(
    rf"\b{words.one_of(words.NEGATIONS)}\W*\\boxed"  # stays as it is
    r"|<(?:answer|move|action|parameter(?:=| name=[\"'])move[\"']?)>()"
    r"|\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
    r"""|(?:(?P<q>["'])(?:answer|move|action|request)(?P=q)\s*:|\bmove=)\s*(?:"([^"\n]*)"|'([^'\n]*)')"""
)
"""Answers in tags, in the frames of LaTeX, and as entries of JSON or arguments of a call."""
_MARKUP = re.compile(
    r"```(?:\w*\n)?|</?\|?[a-z][^<>@\n]*>|\\[a-z]+|\*\*|\*(?![a-i][1-9](?!\w))|__|(?<!\w)_|_(?!\w)|[`$]"
)  # but the star of "*d5"
_ALIKE = str.maketrans("−–’‘“”„؟।。،؛∕⁄∗", '--\'\'"""?..,;//*')


def _plain(text: str) -> str:
    """A text in lower case and with the digits, signs and quotes of ASCII, without marks of direction."""
    kept = (
        character
        for character in unicodedata.normalize("NFKC", text)
        if unicodedata.category(character) != "Cf"
    )
    digits = "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in kept)
    return digits.lower().translate(_ALIKE)


def _labelled(enclosed: re.Match[str]) -> str:
    return f"\nanswer: {enclosed[enclosed.lastindex]}\n" if enclosed.lastindex else enclosed[0]


def plain_lines(text: str) -> Iterator[str]:
    """The lines that count, plain, with marks and entries of JSON as ``answer: …`` on a line of their own."""
    said = _ENDS_TURN.split(_THINKS.split(_HAS_THOUGHT.split(text)[-1])[0].strip())[0]
    if len(said) > MOST_CHARACTERS:  # what is left of a sentence may mean the contrary
        said = re.sub(r"\A.*(?:\n|\Z)", "", said[-MOST_CHARACTERS:])
    said = re.sub(r"\\([^\w\s])", r"\1", _plain(said))  # as JSON and Markdown may write signs
    said = _ENCLOSED.sub(_labelled, _QUOTED.sub("", said))
    for line in _MARKUP.sub(" ", said).splitlines():
        yield re.sub(r" ?([/@]) ?", r"\1", " ".join(line.split()))

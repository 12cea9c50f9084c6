r"""What an answer of a language model comes to, whatever it has thought, explained, marked and wrapped.

It is read sentence by sentence, without thoughts, quotations behind ``>`` and what is struck out:

- A sentence **chooses** a move if it says nothing but the move, words of choosing (*I will play …*) and a
  reason (*… because …*). Any other word makes it prose, such as *not*, *would*, *or*, *if*, and so
  does a question mark. Items of lists, and what a colon announces (*The legal moves are:*), are no choices.
- It is **marked** if it calls the move its answer: ``Move: …``, *my final answer is …*, the line below
  ``Answer:``, ``\boxed{…}``, ``<answer>…</answer>``, ``{"move": …}``. Then a comma, a dash or the like may
  be followed by anything that neither names another move nor doubts this one.
- Sentences that take back (*No, wait.*) and marks without a move (``Answer: not +``) end what stands before.

The last marked move is the answer, or without marks the only move that is chosen. There is none if another
one stands beside it with the same right, or if a text without marks breaks off amid a sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from patchwork_env.integrations.text import words

_ENTRY = re.compile(r"""["']\w+["']\s*:""")  # a line with another entry of JSON is no prose
_ITEM = re.compile(r"\s*(?:[-*•–]|[0-9]+[.)]|\(?[a-z]\))\s+")
_ENDS_SENTENCE = re.compile(rf"(?<=[.!?])\s+|;\s|,\s+(?={words.one_of(words.CLAUSES)})")
_ABBREVIATION = re.compile(rf"\b({'|'.join(map(re.escape, words.ABBREVIATIONS))})\.")
_OPENING = re.compile(rf"{words.one_of(words.OPENINGS + words.REASONS)}[^,.]*,\s+")
_SKIPPED = re.compile(rf"(?:[^\w?/@+*=~%&|.{words.COMBINING}]|\.(?!\.)|=(?=[\s>]))+")
_MARK = re.compile(words.one_of(words.MARKS))
_LABEL = re.compile(rf"{_MARK.pattern}\s*:")
_CHOOSING = re.compile(words.one_of(words.CHOOSING))
_REASON = re.compile(rf",?\s*{words.one_of(words.REASONS)}")
_FURTHER = re.compile(r"\s*[,(\[:—-]\s*|\s(?=(?:to|for|as|which)\b)")
_REFUSAL = rf"{words.one_of(words.REFUSALS)}(?=\s*(?:[,.!:—-]|$)|\s+{words.one_of(words.RETRACTIONS)})"
_RETRACTION = re.compile(rf"(?:(?:{words.one_of(words.RETRACTIONS)}|{_REFUSAL}|but(?=\s+wait))[\s,.!:—-]*)+")
_ALTERNATIVE = re.compile(rf"{words.one_of(words.ALTERNATIVES)}[\s,:]*")
_DOUBT = re.compile("|".join([words.one_of(words.DOUBTS), _ALTERNATIVE.pattern, _RETRACTION.pattern]))
_NOT = re.compile(rf"{words.one_of(words.NEGATIONS)}\s*")
_QUESTION = re.compile(r"\?\W*$")
_EXAMPLE = re.compile(rf"\b{words.one_of(words.EXAMPLES)}")
_BREAKS_OFF = re.compile(rf"[\w,:=+/&({words.COMBINING}-]$")

ToWord = Callable[[re.Match[str]], str]


class Answer(NamedTuple):
    """What an answer comes to: a word, or several that exclude one another, or none."""

    words: tuple[str, ...]
    is_marked: bool
    is_last: bool  # whether no sentence follows
    end: str  # the last sentence

    @property
    def word(self) -> str | None:
        """The only word, if there is one."""
        return self.words[0] if len(self.words) == 1 else None


def read_answer(text: str, value: re.Pattern[str], to_word: ToWord) -> Answer:
    """Reads whatever a model has said.

    ``value`` finds in plain text what may be chosen; what has the same word means the same.
    """
    reading = _Reading(value, to_word)
    for line in plain_lines(text):
        reading.take_line(line)
    return reading.answer()


class _Chosen(NamedTuple):
    """A sentence that chooses."""

    word: str
    is_marked: bool
    place: int  # how much prose is before it


class _Sentence(NamedTuple):
    """What a sentence says."""

    word: str | None = None  # that of the move, if it says nothing else
    is_marked: bool = False  # whether it calls something its answer
    is_prose: bool = False  # whether it says something else


@dataclass
class _Reading:
    """What has been chosen so far, sentence by sentence."""

    value: re.Pattern[str]
    to_word: ToWord
    choices: list[_Chosen] = field(default_factory=list)
    prose: int = 0  # the number of other sentences
    end: str = ""  # the last sentence
    is_last: bool = False  # whether it chooses
    before: Literal["", "label", "list", "example"] = ""  # what the line before announces

    def take_line(self, line: str) -> None:
        """Reads a line."""
        if _ENTRY.search(line):
            self.before = "list"
            return
        item = _ITEM.match(line)
        line = line[item.end() :] if item else line
        for sentence in _ENDS_SENTENCE.split(_ABBREVIATION.sub(r"\1", line)):
            if sentence and not _SKIPPED.fullmatch(sentence):
                self._take_sentence(sentence, is_item=bool(item))

    def answer(self) -> Answer:
        """What all that comes to."""
        chosen = self.choices
        marked = [number for number, choice in enumerate(chosen) if choice.is_marked]
        if self.before == "label" or (not marked and not self.is_last and _BREAKS_OFF.search(self.end)):
            chosen = []
        elif marked:
            last = chosen[marked[-1]]
            beside = (choice for choice in chosen if choice.is_marked and choice.place == last.place)
            chosen = [*beside, *chosen[marked[-1] :]]
        found = tuple(dict.fromkeys(choice.word for choice in chosen))
        return Answer(found, bool(marked), self.is_last, self.end)

    def _take_sentence(self, sentence: str, *, is_item: bool) -> None:
        self.end = sentence
        if taken_back := _RETRACTION.match(sentence):
            self.choices.clear()
        other = _ALTERNATIVE.match(sentence)
        if head := taken_back or other or _OPENING.match(sentence):
            sentence = sentence[head.end() :]
        before, self.before = self.before, ""
        said = self._scan(sentence, is_marked=before == "label")
        self.is_last = said.word is not None
        if said.word is not None:
            if before in ("list", "example") and not (said.is_marked and before == "list"):
                self.before = "" if said.is_marked else before
            elif (said.is_marked or not is_item) and (self.choices or not other):
                self.choices.append(_Chosen(said.word, said.is_marked, self.prose))
        elif said.is_prose:
            self.prose += 1
            if said.is_marked:
                self.choices.clear()
            if sentence.endswith(":"):
                self.before = "example" if _EXAMPLE.search(sentence) else "list"
        elif sentence.endswith(":"):
            self.before = "label"

    def _scan(self, sentence: str, *, is_marked: bool) -> _Sentence:
        """Goes through a sentence as long as it is understood; a label before prose marks that."""
        word, at, is_labelled, is_clear = None, 0, is_marked, not _QUESTION.search(sentence)
        while is_clear and at < len(sentence):
            if found := self.value.match(sentence, at):
                is_clear = word in (None, self.to_word(found))
                word = self.to_word(found)
            elif word and _REASON.match(sentence, at):
                break
            elif word and is_marked and (further := self._further(sentence, at)):
                is_clear = not self._doubts(sentence, further)
                break
            elif found := _MARK.match(sentence, at):
                is_marked = True
                is_labelled = is_labelled or bool(_LABEL.match(sentence, at))
            elif not (found := _SKIPPED.match(sentence, at) or _CHOOSING.match(sentence, at)):
                is_clear = False
                break
            at = found.end()
        return _Sentence(word, is_marked) if is_clear else _Sentence(None, is_labelled, is_prose=True)

    def _further(self, sentence: str, at: int) -> int:
        """Where further words begin that are no move, behind a sign; 0 if there are none."""
        sign = _FURTHER.match(sentence, at)
        return 0 if not sign or self.value.match(sentence, sign.end()) else sign.end()

    def _doubts(self, sentence: str, at: int) -> bool:
        """Whether further words doubt the move; *not that other one* does not."""
        refusal = _NOT.match(sentence, at)
        if refusal and self.value.match(sentence, refusal.end()):
            return False
        return bool(refusal or _DOUBT.match(sentence, at))


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

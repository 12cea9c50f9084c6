r"""The move or request in an answer of a language model.

An answer is marked by ``Move:`` or ``Answer:`` at the beginning of a line, by ``\boxed{…}``, by the tag
``<move>`` or ``<answer>``, or by the key ``move`` or ``answer`` of a JSON object that ends the text. The last
mark counts if nothing but the move follows on its line. Otherwise the last line counts if it is a move.
"""

from __future__ import annotations

import json
import re

_THOUGHTS = re.compile(r"\A.*</think(?:ing)?>|<think(?:ing)?>.*", re.IGNORECASE | re.DOTALL)
_MARKDOWN = re.compile(r"```(?:\w*\n)?|\*\*|\*(?![a-i][1-9]\b)|[`_$]|^#+ ", re.MULTILINE)  # keeps "*d5"
_ENCLOSED = re.compile(r"\\boxed\{(?:\\text\{)?([^{}]*)\}+|<(?:move|answer)>([^<>]*)</(?:move|answer)>")
_LABELLED = re.compile(r"^(?:final )?(?:move|answer) *:(.*)$", re.MULTILINE)
_OBJECT = re.compile(r"^\{", re.MULTILINE)


def find_answer(text: str, value: re.Pattern[str]) -> re.Match[str] | None:
    """Return the match of ``value``, which is in lower case, with the answer; None if there is no answer."""
    marked = _LABELLED.findall(_plain(text))
    return (value.fullmatch(_stripped(marked[-1])) if marked else None) or value.fullmatch(last_line(text))


def last_line(text: str) -> str:
    """Return the last line of a text, in lower case, without thoughts, Markdown and a final period."""
    return _stripped(_plain(text).rpartition("\n")[2])


def _plain(text: str) -> str:
    """Return a text in lower case, without thoughts and Markdown, and with all marks as ``answer: …``."""
    plain = _MARKDOWN.sub("", _THOUGHTS.sub("", text)).strip().lower()
    return _ENCLOSED.sub(lambda found: _label(found[1] or found[2] or ""), _label_object(plain))


def _label_object(text: str) -> str:
    """Replace the JSON object that ends a text by the value of its last key that marks an answer."""
    start = _OBJECT.search(text)
    if not start or not text.endswith("}"):
        return text
    try:
        entries = json.loads(text[start.start() :])
    except (ValueError, RecursionError):
        return text
    values = [value for key, value in entries.items() if key in ("move", "answer")]
    return text[: start.start()] + (_label(str(values[-1])) if values else "")


def _label(value: str) -> str:
    return f"\nanswer: {' '.join(value.split())}"


def _stripped(line: str) -> str:
    return " ".join(line.split()).removesuffix(".")

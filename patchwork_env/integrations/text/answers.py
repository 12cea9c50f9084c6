r"""The move or request in an answer of a language model.

An answer is marked by ``Move:`` or ``Answer:`` at the beginning of a line, by ``\boxed{…}``, by the tag
``<move>`` or ``<answer>``, or by the key ``move`` or ``answer`` of a JSON object that ends the text. The last
mark counts if nothing but the move follows on its line. Otherwise the last line counts if it is a move.
"""

from __future__ import annotations

import json
import math
import re

from patchwork_env.core.checks import check_between
from patchwork_env.core.game import BaseGame
from patchwork_env.core.names import counted, did_you_mean, short_repr
from patchwork_env.errors import IllegalActionError
from patchwork_env.integrations.text.view import (
    Group,
    LegalMove,
    describe,
    draw,
    moves,
    moves_text,
    rules,
    view_of,
)

_THOUGHTS = re.compile(r"\A.*</think(?:ing)?>|<think(?:ing)?>.*", re.IGNORECASE | re.DOTALL)
_MARKDOWN = re.compile(r"```(?:\w*\n)?|\*\*|\*(?![a-i][1-9]\b)|[`_$]|^#+ ", re.MULTILINE)  # keeps "*d5"
_ENCLOSED = re.compile(r"\\boxed\{(?:\\text\{)?([^{}]*)\}+|<(?:move|answer)>([^<>]*)</(?:move|answer)>")
_LABELLED = re.compile(r"^(?:final )?(?:move|answer) *:(.*)$", re.MULTILINE)
_OBJECT = re.compile(r"^\{", re.MULTILINE)


def _find_answer(text: str, value: re.Pattern[str]) -> str | None:
    """Return the answer in lower case if ``value`` matches it; None if there is no such answer."""
    marked = _LABELLED.findall(_plain(text))
    found = (value.fullmatch(_stripped(marked[-1])) if marked else None) or value.fullmatch(_last_line(text))
    return found[0] if found else None


def _last_line(text: str) -> str:
    """Return the last line of a text, in lower case, without thoughts, Markdown and a final period."""
    return _stripped(_plain(text).rpartition("\n")[2])


def _plain(text: str) -> str:
    """Return a text in lower case, without thoughts and Markdown, and with all marks as ``answer: …``."""
    plain = _MARKDOWN.sub("", _THOUGHTS.sub("", text).lower()).strip()
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


# --- moves ------------------------------------------------------------------------------------------------


def parse(game: BaseGame, text: str) -> int:
    """Return the legal action of an answer, whose move is a word of the notation, such as ``12/3@d5``.

    For no move or an illegal one, an IllegalActionError says what was found and what is legal.
    """
    view = view_of(game)
    if not isinstance(text, str):
        raise IllegalActionError(f"a move is a text, not {short_repr(text)}")
    if game.is_over:
        raise IllegalActionError("the game is over; there are no moves")
    word = _find_answer(text, view.word)
    if word is None:
        example = game.move_text(game.legal_actions()[0])
        raise IllegalActionError(
            f"{short_repr(_last_line(text))} is not an answer; end with a line that holds only a move, as "
            f"'answer: {example}'. Write {view.forms}. {_allowed(game)}"
        )
    word = word.replace(" ", "")
    try:
        return game.parse_move(word)
    except IllegalActionError:
        why = view.why_not(game, word)
    raise IllegalActionError(f"{short_repr(word)} is not legal: {why}. {_allowed(game)}")


def _allowed(game: BaseGame) -> str:
    groups = [_brief(group) for group in moves(game) if group.choices]
    return f"Allowed are {'; '.join(groups)}"


def _brief(group: Group) -> str:
    number, word = len(group.choices), group.choices[0].word
    return f"{number} of {group.name}, such as {word}" if number > 1 else word


# --- requests ---------------------------------------------------------------------------------------------

PAGE = 60  # the placements on a page
REQUESTS = {
    "rules": "the rules, and how moves are written",
    "position": "the position",
    "moves": "the kinds of legal moves, with their numbers",
    "placements": "legal placements, such as 'placements of {piece} 7', with any of {details}",
    "shapes": "the shape of any piece in all its orientations, such as 'shapes of {piece} 7'",
}
"""The first words of requests, each with a template of what the reply contains."""
_REQUEST = re.compile(rf"(?:{'|'.join(REQUESTS)})(?:[ ,].*)?")
_FILTERS = ("orientation", "level", "row", "column")
_FILLING = ("of", "in", "at", "on", "and")


def is_request(text: str) -> bool:
    """Whether an answer that :func:`parse` refuses asks for something instead of moving."""
    return _find_answer(text, _REQUEST) is not None


def requests_text(game: BaseGame) -> str:
    """Return a line for each request, for a prompt."""
    return "\n".join(f"- {kind}: {_about(game, kind)}" for kind in REQUESTS)


def _about(game: BaseGame, kind: str) -> str:
    view = view_of(game)
    return REQUESTS[kind].format(piece=view.piece, details=view.details)


def ask(game: BaseGame, text: str, player: int | None = None) -> str:
    """Return the reply to a request; ValueError for one that is not understood.

    A request begins with one of :data:`REQUESTS`. The reader of the position is a ``player``, by default the
    one to move.
    """
    asked = _find_answer(str(text), _REQUEST) or _last_line(str(text))
    kind, *words = [word for word in re.split("[ ,;]+", asked) if word not in _FILLING] or [""]
    if kind not in REQUESTS:
        raise ValueError(f"there is no request {short_repr(text)}; {did_you_mean(kind, REQUESTS)}")
    details = dict(zip(words[::2], words[1::2], strict=False))
    pieces = [f"{name} {value}" for name, value in details.items() if name not in (*_FILTERS, "page")]
    if kind == "placements" and len(words) % 2 == 0 and len(pieces) <= 1:
        return _placements_text(game, pieces[0] if pieces else None, details)
    if kind == "shapes" and len(words) == 2:
        return _shapes_text(game, " ".join(words))
    if words or kind == "shapes":
        raise ValueError(f"{short_repr(asked)} is not understood; {kind!r} gives {_about(game, kind)}")
    if kind == "position":
        return describe(game, player)
    return rules(game) if kind == "rules" else moves_text(game)


def _placements_text(game: BaseGame, piece: str | None, details: dict[str, str]) -> str:
    """Return a page of the placements that have all these details, a line for each orientation."""
    groups = moves(game) if piece is None else (_group(game, piece),)
    filters = {name: details[name] for name in _FILTERS if name in details}
    found = [choice for group in groups for choice in group.choices if _fits(choice, filters)]
    pages = max(1, math.ceil(len(found) / PAGE))
    page = details.get("page", "1")
    number = check_between(int(page) if page.isdecimal() else page, 1, pages, "page")
    lines = [counted(len(found), "placement") + (f" of {piece}" if piece else "")]
    lines[0] += f", page {number} of {pages}" * (pages > 1)
    if piece is not None and not groups[0].choices:
        lines.append(f"{piece}: {groups[0].about}")
    by_orientation: dict[str, list[str]] = {}
    for choice in found[(number - 1) * PAGE : number * PAGE]:
        on_level = "" if choice.level is None else f" on level {choice.level}"
        name = f"{choice.group} in orientation {choice.orientation}{on_level}"
        by_orientation.setdefault(name, []).append(choice.word)
    return "\n".join([*lines, *(f"{name}: {' '.join(words)}" for name, words in by_orientation.items())])


def _group(game: BaseGame, name: str) -> Group:
    groups = {group.name: group for group in moves(game)}
    if name not in groups:
        raise ValueError(f"there is no {short_repr(name)} now; {did_you_mean(name, groups)}")
    return groups[name]


def _fits(choice: LegalMove, filters: dict[str, str]) -> bool:
    return choice.orientation is not None and all(
        str(getattr(choice, name)) == value for name, value in filters.items()
    )


def _shapes_text(game: BaseGame, piece: str) -> str:
    view = view_of(game)
    shapes = view.shapes(piece)
    if not shapes:
        raise ValueError(f"there is no piece {short_repr(piece)}; pieces are named as '{view.piece} 7'")
    return "\n".join([f"{piece}:", *draw(shapes)])

"""Reading files of text and of JSON, which may be damaged, foreign or made to do harm.

Whatever is wrong with such a file, it is a ValueError of one line that names the file.
"""

from __future__ import annotations

import codecs
import json
import math
from pathlib import Path
from typing import Any

from patchwork_env.core.names import short_repr

MOST_BYTES = 2**26  # the largest file that is read as a whole


def one_line(text: str, most: int = 200) -> str:
    """A text as messages show it: on one line, and cut behind ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with its mark, as editors of Windows write it.

    FileNotFoundError, IsADirectoryError or ValueError names the file and the reason.
    """
    try:
        with path.open("rb") as file:
            contents = file.read(most + 1)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path} is a folder; it must be a file") from None
    if len(contents) > most:
        raise ValueError(f"{path} is damaged: it has more than {most:,} bytes")
    try:
        is_wide = contents.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return contents.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not in UTF-8: {error.reason} at byte {error.start:,}; store it in UTF-8"
        ) from None


def read_json(path: Path, *, finite: bool = True) -> Any:
    """What a file of JSON holds; see :func:`parse_json`."""
    return parse_json(read_text(path), str(path), finite=finite)


def read_object(path: Path, *keys: str, finite: bool = True) -> dict[str, Any]:
    """The object that a file of JSON holds, which must have these keys; see :func:`parse_json`."""
    contents = read_json(path, finite=finite)
    missing = [key for key in keys if key not in contents] if isinstance(contents, dict) else keys
    if not isinstance(contents, dict) or missing:
        raise ValueError(f"{path} is damaged: it holds no {', '.join(missing)}")
    return contents


def read_document(
    path: Path, form: str, version: int, advice: str = "", *, finite: bool = True
) -> dict[str, Any]:
    """What a file of JSON holds besides its ``format`` and ``version``, which must be these.

    Otherwise the message ends with the ``advice``.
    """
    contents = read_object(path, "format", "version", finite=finite)
    its_form, its_version = contents.pop("format"), contents.pop("version")
    if (its_form, its_version) != (form, version):
        raise ValueError(
            f"{path} is {short_repr(its_form)}, version {short_repr(its_version)}; "
            f"this needs {form!r}, version {version}{advice}"
        )
    return contents


def parse_json(text: str, source: str, *, finite: bool = True) -> Any:
    """What a text of JSON holds, which messages call ``source``.

    ValueError if it is no JSON, too deep, has a key twice in an object or, if it must be ``finite``, numbers
    that are not.
    """
    number = _finite_number if finite else float
    try:
        return json.loads(text, parse_float=number, parse_constant=number, object_pairs_hook=_unique_keys)
    except RecursionError:
        raise ValueError(f"{source} is damaged: its lists and objects are nested too deeply") from None
    except ValueError as error:
        has_digits = "int_max_str_digits" in str(error)  # Python's advice, which is none here
        reason = "an integer in it has thousands of digits" if has_digits else one_line(str(error))
        raise ValueError(f"{source} is damaged: {reason}") from None


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{short_repr(text)} is no finite number")
    return number


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {short_repr(twice)} appears twice")
    return entries

"""Files of text and of JSON; a ValueError of one line names a damaged file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from patchwork_env.core.names import short_repr

MOST_BYTES = 2**26
"""The default limit of the size of a file."""


def one_line(text: str, most: int = 200) -> str:
    """Return a text on one line, truncated to ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a file in UTF-8 of at most ``most`` bytes.

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
        return contents.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not in UTF-8: {error.reason} at byte {error.start:,}; store it in UTF-8"
        ) from None


def read_json(path: Path, *, finite: bool = True) -> Any:
    """Return the contents of a file of JSON; see :func:`parse_json`."""
    return parse_json(read_text(path), str(path), finite=finite)


def read_object(path: Path, *keys: str, finite: bool = True) -> dict[str, Any]:
    """Return the object in a file of JSON, which must have the ``keys``; see :func:`parse_json`."""
    contents = read_json(path, finite=finite)
    missing = [key for key in keys if key not in contents] if isinstance(contents, dict) else keys
    if not isinstance(contents, dict) or missing:
        raise ValueError(f"{path} is damaged: it has no {', '.join(missing)}")
    return contents


def read_document(
    path: Path, form: str, version: int, advice: str = "", *, finite: bool = True
) -> dict[str, Any]:
    """Return the object in a file of JSON, whose format and version must be ``form`` and ``version``.

    Both are removed from it. ValueError for others; the message ends with ``advice``.
    """
    contents = read_object(path, "format", "version", finite=finite)
    its_form, its_version = contents.pop("format"), contents.pop("version")
    if (its_form, its_version) != (form, version):
        raise ValueError(
            f"{path} is {short_repr(its_form)}, version {short_repr(its_version)}; "
            f"it must be {form!r}, version {version}{advice}"
        )
    return contents


def parse_json(text: str, source: str, *, finite: bool = True) -> Any:
    """Return the data in a text of JSON, which messages call ``source``.

    ValueError if it is not JSON or nested too deeply, or, with ``finite``, has a number that is not finite.
    """
    number = _finite_number if finite else float
    try:
        return json.loads(text, parse_float=number, parse_constant=number)
    except RecursionError:
        raise ValueError(f"{source} is damaged: its lists and objects are nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{source} is damaged: {one_line(str(error))}") from None


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{short_repr(text)} is not a finite number")
    return number

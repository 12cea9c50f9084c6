"""The page as one file: its style sheets, scripts and data are written into the HTML.

A browser draws a page while it reads it. Over a slow network, one file shows a first picture early; eighty
files would arrive one after the other. There is no build tool: each module becomes a function, in the order
of the imports.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from patchwork_env.service.positions import GAMES, components_of

_SHEET = re.compile(r'^ *<link rel="stylesheet" href="([^"]+)">\n', re.M)
_SCRIPT = re.compile(r'<script([^>]*) src="([^"]+)"></script>')
_DATA = re.compile(r'(<script type="application/json" id="(\w+)">)(</script>)')
_INLINE = re.compile(r"<(style|script)(?: type=\"module\")?>(.*?)</\1>", re.S)
_IMPORT = re.compile(r'^import (\{[^}]*\}|\* as \w+) from "([^"]+)";$', re.M)
_DYNAMIC_IMPORT = re.compile(r'\bimport\("([^"]+)"\)')
_EXPORT = re.compile(r"^export (?=(?:const|class|function\*?|async function\*?) (\w+))", re.M)
_UNSUPPORTED = re.compile(r"^(?:import|export)\b.*|import\.meta|</script", re.M)


def assembled(page: Path, backend: str = "server") -> str:
    """Return the HTML of the page in a folder; ``backend`` is ``server`` or ``wasm``."""
    html = _read(page / "index.html")
    style = "".join(without_comments(_read(page / name)) for name in _SHEET.findall(html))
    html = _SHEET.sub("", html).replace("</head>", f"<style>\n{style}</style>\n</head>")
    html = _SCRIPT.sub(lambda found: f"<script{found[1]}>\n{bundled(page / found[2])}</script>", html)
    data = _data_of(page)
    html = _DATA.sub(lambda found: found[1] + _as_json(data[found[2]]) + found[3], html)
    return html.replace('name="backend" content="server"', f'name="backend" content="{backend}"')


def _data_of(page: Path) -> dict[str, Any]:
    """Return constants: components of the games, English words, and the first word of each language."""
    words = {path.stem: json.loads(_read(path)) for path in sorted((page / "languages").glob("*.json"))}
    return {
        "components": {game: components_of(game) for game in GAMES},
        "words": words["en"],
        "loading": {language: texts["page"]["loading"] for language, texts in words.items()},
    }


def _as_json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def bundled(entry: Path) -> str:
    """Return a module and its imports as one script; ValueError for unknown forms of imports."""
    scripts: dict[Path, str] = {}

    def add(path: Path, imported_by: tuple[Path, ...] = ()) -> str:
        """Add a module after its imports; return the name of its exports."""
        if path in imported_by:
            raise ValueError(f"modules import each other: {' > '.join(p.name for p in (*imported_by, path))}")
        if path not in scripts:

            def add_import(name: str) -> str:
                return add((path.parent / name).resolve(), (*imported_by, path))

            code = without_comments(_read(path))
            code = _IMPORT.sub(lambda found: f"const {_bound(found[1])} = {add_import(found[2])};", code)
            code = _DYNAMIC_IMPORT.sub(lambda found: f"Promise.resolve({add_import(found[1])})", code)
            names = ", ".join(_EXPORT.findall(code))
            code = _EXPORT.sub("", code)
            if found := _UNSUPPORTED.search(code):
                raise ValueError(f"{path.name} cannot be bundled: {found[0]!r}")
            scripts[path] = f"const {_name(path, entry)} = (() => {{\n{code}return {{ {names} }};\n}})();\n"
        return _name(path, entry)

    add(entry.resolve())
    return '"use strict";\n' + "".join(scripts.values())


def _name(path: Path, entry: Path) -> str:
    relative = path.relative_to(entry.resolve().parent).with_suffix("")
    return "$" + "_".join(relative.parts)


def _bound(imported: str) -> str:
    """Return the names between ``import`` and ``from``, as the left side of a declaration."""
    return imported.removeprefix("* as ") if imported.startswith("*") else imported.replace(" as ", ": ")


def without_comments(text: str) -> str:
    """Return a script or style sheet without comment lines and indentation.

    A script with a template literal of several lines stays as it is: its indentation may matter.
    """
    lines = [line.strip() for line in text.splitlines()]
    if any(line.count("`") % 2 for line in lines):
        return text
    kept: list[str] = []
    in_comment = False
    for line in lines:
        begins = not in_comment and line.startswith("/*") and "*/" not in line[:-1]
        if not in_comment and not begins and line and not line.startswith("//"):
            kept.append(line)
        in_comment = (in_comment or begins) and not line.endswith("*/")
    return "\n".join(kept) + "\n"


def allowed_by(policy: str, html: str) -> str:
    """Return a content security policy that also allows the inline styles and scripts of a page."""
    for kind in ("style", "script"):
        hashes = _hashes(code for tag, code in _INLINE.findall(html) if tag == kind)
        policy += f"; {kind}-src 'self' {hashes}"
    return policy


def _hashes(codes: Iterable[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")

"""Takes from scripts, style sheets and texts what only their authors read: comments and indentation."""

from __future__ import annotations

import json
from pathlib import Path


def lighten(folder: Path) -> None:
    """Makes all scripts, style sheets and texts in a folder lighter; what they say stays the same."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".js", ".css"):
            path.write_text(without_comments(path.read_text(encoding="utf-8")), encoding="utf-8")
        elif path.suffix == ".json":
            texts = json.loads(path.read_text(encoding="utf-8"))
            path.write_text(json.dumps(texts, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def without_comments(text: str) -> str:
    """A script or style sheet without the lines that are comments, and without indentation.

    A script with a template that runs over several lines is left as it is, since its indentation may count.
    """
    lines = [line.strip() for line in text.splitlines()]
    if any(line.count("`") % 2 for line in lines):
        return text
    kept: list[str] = []
    in_comment = False
    for line in lines:
        begins = not in_comment and line.startswith("/*") and "*/" not in line[:-2]
        if not in_comment and not begins and line and not line.startswith("//"):
            kept.append(line)
        in_comment = (in_comment or begins) and not line.endswith("*/")
    return "\n".join(kept) + "\n"

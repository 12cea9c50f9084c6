"""The static folder: the page, its modules, and a service worker that keeps both for later."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from patchwork_env.play.assembly import assembled, bundled, without_comments

PAGE = Path(__file__).parents[2] / "patchwork_env" / "play" / "page"
SERVICE_WORKER = Path(__file__).with_name("service_worker.js")
MODULES = "wasm"
"""The folder of modules and weights within the site."""
MOST_BYTES = 140 * 1024
"""The most bytes of the page as gzip, without modules and weights."""
_COPIED = ("icon.svg", "manifest.webmanifest", "languages", "rules", "style/theme.css", "style/rules.css")
_WORKER = "js/wasm_worker.js"


class Size(NamedTuple):
    """The bytes of a part of the site, as they are and as gzip sends them."""

    part: str
    raw: int
    zipped: int


def assemble(site: Path, modules: Path) -> None:
    """Writes the site anew: the page as one file, its worker as another, rules, and a folder's modules."""
    shutil.rmtree(site, ignore_errors=True)
    for name in files_of(PAGE):
        if name.startswith(_COPIED):
            _write(site / name, _lightened(PAGE / name))
    _write(site / "index.html", assembled(PAGE, "wasm"))
    _write(site / _WORKER, bundled(PAGE / _WORKER))
    shutil.copytree(modules, site / MODULES)
    (site / ".nojekyll").touch()  # GitHub Pages sends the folder as it is
    _write_service_worker(site)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _lightened(path: Path) -> str:
    """The text of a file without what only its authors read."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return without_comments(text)
    if path.suffix == ".json":
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    return text


def _write_service_worker(site: Path) -> None:
    """Writes the worker with the list of all files and a digest of their contents."""
    files = files_of(site)
    digest = hashlib.sha256()
    for name in files:
        digest.update(name.encode() + (site / name).read_bytes())
    text = SERVICE_WORKER.read_text(encoding="utf-8")
    text = text.replace("{version}", digest.hexdigest()[:16]).replace(
        '["{files}"]', json.dumps(["./", *files])
    )
    (site / SERVICE_WORKER.name).write_text(text, encoding="utf-8")


def files_of(site: Path) -> list[str]:
    """The files of a site by their paths within it, without hidden ones."""
    found = (path.relative_to(site) for path in site.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in found if not path.name.startswith("."))


def sizes_of(site: Path) -> list[Size]:
    """The sizes of the page, and of each module's files."""
    names = files_of(site)
    page = [name for name in names if not name.startswith(f"{MODULES}/")]
    parts = {"page": page} | {name: [name] for name in names if name not in page}
    return [_size(part, (site / name for name in files)) for part, files in parts.items()]


def _size(part: str, paths: Iterable[Path]) -> Size:
    contents = [path.read_bytes() for path in paths]
    zipped = sum(len(gzip.compress(data, mtime=0)) for data in contents)
    return Size(part, sum(map(len, contents)), zipped)


def table_of(sizes: Iterable[Size]) -> str:
    """The sizes as a table for people."""
    rows = [
        ("part", "KB", "KB as gzip"),
        *((s.part, f"{s.raw / 1024:,.0f}", f"{s.zipped / 1024:,.0f}") for s in sizes),
    ]
    width = max(len(part) for part, *_ in rows)
    return "\n".join(f"{part:<{width}}  {raw:>8}  {zipped:>10}" for part, raw, zipped in rows)


def check_sizes(sizes: Iterable[Size], most: int = MOST_BYTES) -> None:
    """Checks the size of the page.

    Raises:
        ValueError: It is larger than allowed.
    """
    for size in sizes:
        if size.part == "page" and size.zipped > most:
            raise ValueError(
                f"the page has {size.zipped:,} bytes as gzip, without modules; allowed are {most:,}"
            )

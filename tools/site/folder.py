"""The static folder: the page, its modules, and a service worker that keeps both for later."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tools.site.lighten import lighten

PAGE = Path(__file__).parents[2] / "patchwork_env" / "play" / "page"
SERVICE_WORKER = Path(__file__).with_name("service_worker.js")
MODULES = "wasm"
"""The folder of modules and weights within the site."""
MOST_BYTES = 400 * 1024
"""The most bytes of the page without modules and weights."""
_SERVER, _STATIC = '<meta name="backend" content="server">', '<meta name="backend" content="wasm">'


class Size(NamedTuple):
    """The bytes of a part of the site, as they are and as gzip sends them."""

    part: str
    raw: int
    zipped: int


def assemble(site: Path, modules: Path) -> None:
    """Writes the site anew: the page of the package, with the modules of a folder.

    Raises:
        ValueError: The page does not say that it asks a server, so that it cannot be told otherwise.
    """
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(PAGE, site, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    (site / MODULES).mkdir()
    for path in sorted(modules.iterdir()):
        shutil.copyfile(path, site / MODULES / path.name)
    lighten(site)
    index = site / "index.html"
    text = index.read_text(encoding="utf-8")
    if _SERVER not in text:
        raise ValueError(f"{index.name} lacks {_SERVER}")
    index.write_text(text.replace(_SERVER, _STATIC), encoding="utf-8")
    (site / ".nojekyll").touch()  # GitHub Pages sends the folder as it is
    _write_service_worker(site)


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
        if size.part == "page" and size.raw > most:
            raise ValueError(
                f"the page has {size.raw:,} bytes; allowed are {most:,} without modules and weights"
            )

"""Builds the page without a server: ``python -m tools.site``; ``make site`` calls it.

The kernels of the rules and agents become WebAssembly, one module for each game. Then Node.js plays stored
games with the modules and compares every position and choice with those of this machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.site.environment import ENVIRONMENT
from tools.site.folder import assemble, check_sizes, sizes_of, table_of
from tools.site.toolchain import MissingToolError, Tools, find_tools

PROJECT = Path(__file__).parents[2]
GAMES = ("patchwork", "nmbr9")
REPLAY = Path(__file__).with_name("replay") / "replay.mjs"


def main() -> None:
    """Builds the site, checks it and prints its sizes."""
    parser = argparse.ArgumentParser(prog="make site", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=PROJECT / "site", help="where the site is written to")
    site = parser.parse_args().folder.resolve()
    try:
        tools = find_tools()
    except MissingToolError as error:
        sys.exit(f"make site: {error}")
    with tempfile.TemporaryDirectory() as scratch:
        build(site, Path(scratch), tools)


def build(site: Path, scratch: Path, tools: Tools) -> None:
    """Compiles, assembles and checks the site; ``scratch`` is an empty folder."""
    modules = scratch / "modules"
    modules.mkdir()
    compile_modules(modules, scratch / "cache", tools.linker)
    assemble(site, modules)
    sizes = sizes_of(site)
    print(table_of(sizes))
    check_sizes(sizes)
    replay(site, scratch / "samples.json", tools.node)


def compile_modules(folder: Path, cache: Path, linker: str) -> None:
    """Compiles the modules of all games at the same time, each in a process of its own."""
    environment = {**os.environ, **ENVIRONMENT, "NUMBA_CACHE_DIR": str(cache)}
    running = []
    for game in GAMES:
        command = [sys.executable, "-m", "tools.site.compile", game, str(folder), linker]
        running.append(subprocess.Popen(command, cwd=PROJECT, env=environment))
    for process in running:
        if process.wait():
            sys.exit("make site: a module could not be compiled")


def replay(site: Path, samples: Path, node: str) -> None:
    """Repeats stored games in Node.js with a site's modules; the results must be those of this machine."""
    from tools.site.samples import write_samples

    write_samples(samples)
    done = subprocess.run([node, str(REPLAY), str(site), str(samples)], check=False)
    if done.returncode:
        sys.exit("make site: the modules do not play as the package does")


if __name__ == "__main__":
    main()

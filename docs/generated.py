"""Pages of the reference that are made from the code: public modules, configuration keys, commands."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from patchwork_env import cli
from patchwork_env.learning.config import algorithms
from patchwork_env.learning.config.loading import Key, keys_of

PROJECT = Path(__file__).parents[1]
MODULES = {
    "patchwork_env.patchwork_v0": "environments of Patchwork",
    "patchwork_env.nmbr9_v0": "environments of NMBR 9",
    "patchwork_env.patchwork": "the game Patchwork",
    "patchwork_env.patchwork.render": "pictures of Patchwork",
    "patchwork_env.nmbr9": "the game NMBR 9",
    "patchwork_env.nmbr9.render": "pictures of NMBR 9",
    "patchwork_env.games": "which games there are",
    "patchwork_env.agents": "agents",
    "patchwork_env.testing": "tests for games and agents of your own",
    "patchwork_env.errors": "errors",
    "patchwork_env.search": "searches that know no game",
    "patchwork_env.learning.toolbox": "training runs, and parts for algorithms of your own",
    "patchwork_env.learning.evaluation": "matches, tournaments, statistics",
    "patchwork_env.learning.config": "configurations",
    "patchwork_env.integrations.sb3": "Stable-Baselines3",
    "patchwork_env.integrations.open_spiel": "OpenSpiel",
    "patchwork_env.integrations.torchrl": "TorchRL",
    "patchwork_env.integrations.minari": "Minari",
    "patchwork_env.integrations.pgx": "Pgx, for JAX",
    "patchwork_env.integrations.text": "games in words",
    "patchwork_env.integrations.language_models": "language models as agents",
}
"""The public modules, each with a phrase about what it holds."""
API = """\
You may rely on the names that these modules list in their `__all__`, and on their parameters; everything
else may change. [The changelog](../changelog.md) says what a version promises."""
CONFIGURATION = """\
The keys of the YAML files that `patchwork-env train` reads, by algorithm. Keys that a file leaves out have
their default; unknown keys and values out of range are errors that name the key. `patchwork-env train
--explain KEY` prints the same. A *schedule* is a mapping: `{start: 1e-3, end: 1e-4, curve: linear}`."""
COMMANDS = """\
`patchwork-env COMMAND --help` prints the same. In a clone, `python -m training.train` and
`python -m training.evaluate` do the same as `train` and `evaluate`."""


def write_pages(app: Any) -> None:
    """Writes the pages into the folder of the reference."""
    from sphinx.ext.autodoc.mock import mock  # the tests read MODULES without Sphinx

    folder = Path(app.srcdir) / "reference"
    with mock(app.config.autodoc_mock_imports):
        write_section(folder / "api", "Python", API, MODULES, map(module_page, MODULES))
        write_section(
            folder / "commands", "Commands", COMMANDS, cli.COMMANDS, map(command_page, cli.COMMANDS)
        )
    kinds = {name: kind.__doc__ or "" for name, kind in algorithms().items()}
    write_section(
        folder / "configuration", "Configuration keys", CONFIGURATION, kinds, map(configuration_page, kinds)
    )


def write_section(
    folder: Path, title: str, text: str, phrases: Mapping[str, str], pages: Iterable[str]
) -> None:
    """Writes a page for every name, and an index with a phrase about each; leaves alone what is the same."""
    entries = "\n".join(f"- [{name}]({name}.md): {phrase.rstrip('.')}" for name, phrase in phrases.items())
    short = (f"{name.removeprefix('patchwork_env.')} <{name}>" for name in phrases)
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *short, "```"])
    folder.mkdir(exist_ok=True)
    written = dict(zip(phrases, pages, strict=True))
    for name, page in {**written, "index": f"{text}\n\n{entries}\n\n{toctree}"}.items():
        path = folder / f"{name}.md"
        content = f"# {title if name == 'index' else name}\n\n{page}\n"
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")


def module_page(name: str) -> str:
    """The public names of a module with their docstrings, but for those that an earlier page shows."""
    elsewhere = {exported: place for exported, place in places(name).items() if place != name}
    links = (f"- `{exported}` is that of [{module}]({module}.md)" for exported, module in elsewhere.items())
    directive = [f".. automodule:: {name}", "   :members:", "   :imported-members:"]
    directive += [f"   :exclude-members: {', '.join(elsewhere)}"] if elsewhere else []
    return "\n".join(["```{eval-rst}", *directive, "```", "", *links])


def places(name: str) -> dict[str, str]:
    """The first of the public modules that shows each class and function that a module shows."""
    first: dict[Any, str] = {}
    for module in map(import_module, MODULES):
        exported = {shown: getattr(module, shown) for shown in module.__all__}
        found = {shown: value for shown, value in exported.items() if callable(value)}
        for value in found.values():
            first.setdefault(value, module.__name__)
        if module.__name__ == name:
            break
    return {shown: first[value] for shown, value in found.items()}


def command_page(name: str) -> str:
    """Return the help text of a command."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        os.environ["COLUMNS"] = "100"
        cli.main([name, "--help"])
    return f"```text\n{printed.getvalue().strip()}\n```"


def configuration_page(algorithm: str) -> str:
    """The keys of each section of an algorithm's configuration."""
    kind = algorithms()[algorithm]
    sections: dict[str, list[Key]] = {}
    for key in keys_of(kind()):
        sections.setdefault(key.name.rpartition(".")[0], []).append(key)
    lists = (f"## {section or 'The run'}\n\n{list_of(keys)}" for section, keys in sections.items())
    return "\n\n".join([kind.__doc__ or "", *lists])


def list_of(keys: Iterable[Key]) -> str:
    """Keys with their defaults and types, and below each its meaning."""
    return "\n\n".join(
        f"`{key.name}: {key.default}` ({key.type})\n: {' '.join(key.description.split())}" for key in keys
    )


def skip(_app: Any, _kind: str, _name: str, member: Any, is_skipped: bool, _options: Any) -> bool | None:
    """Leaves out what named tuples say of their fields, which is nothing."""
    return True if str(getattr(member, "__doc__", "")).startswith("Alias for field number") else None


def without_folder(
    _app: Any, _kind: str, _name: str, _value: Any, _options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Leaves out of a default where this clone lies."""
    return signature and signature.replace(f"PosixPath('{PROJECT}/", "Path('"), returned


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", without_folder)
    return {"parallel_read_safe": True}

"""The command ``patchwork-env``, with a subcommand for each module of ``learning/commands`` and others.

Only the subcommand that is called is imported, so ``patchwork-env --help`` is quick and needs no PyTorch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module

from patchwork_env import __version__
from patchwork_env.core.commands import while_read
from patchwork_env.core.names import did_you_mean, short_repr

PROGRAM = "patchwork-env"

COMMANDS = {
    "play": "play and analyse on a page in the browser",
    "train": "train a policy by self-play from a configuration",
    "evaluate": "measure an agent against others",
    "tournament": "play a round robin among agents, and rate them",
    "gauntlet": "rate an agent against a fixed pool of reference players",
    "review": "review a game: the odds after every move, and the costliest mistakes",
    "analyse": "analyse a position: the best moves, expected results, and lines of play",
    "report": "write a page about a run",
    "compare": "compare configurations by several runs of each: tables and curves, with intervals",
    "dataset": "record games as a dataset of Minari",
    "export": "write the policy of a checkpoint as an ONNX file",
    "publish": "publish a checkpoint and its figures on the Hugging Face Hub",
    "compile": "compile games and agents now, not at their first use",
    "engine": "choose moves and analyse for other programs, by lines of JSON on stdin and stdout",
    "mcp": "serve both games to language models that use tools, on stdin and stdout",
    "openenv": "serve a game as text to language models that learn",
}
"""The subcommands, each with its description."""

_MODULES = {
    "play": "patchwork_env.play.command",
    "engine": "patchwork_env.protocol.command",
    "mcp": "patchwork_env.integrations.mcp.command",
}
"""The modules of subcommands that are not in ``patchwork_env/learning/commands``."""


_HELP, _VERSION = ("-h", "--help", "help"), ("-V", "--version")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code, 2 for an error."""
    return while_read(partial(_call, arguments))


def _call(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    name, *rest = words or ["--help"]
    if name in _HELP and rest:
        name, *rest = *rest, "--help"
    if name in _HELP:
        width = max(map(len, COMMANDS))
        print(f"usage: {PROGRAM} COMMAND ...\n\n{PROGRAM} COMMAND --help says more about a command:\n")
        print("\n".join(f"  {name:<{width}}  {what}" for name, what in COMMANDS.items()))
        print(f"\n{PROGRAM} --version prints the version")
        return 0 if words else 2
    if name in _VERSION:
        print(f"{PROGRAM} {__version__}")
        return 0
    if name not in COMMANDS:
        problem = f"there is no command {short_repr(name)}; {did_you_mean(name, COMMANDS)}"
        print(f"{PROGRAM}: {problem}", file=sys.stderr)
        return 2
    command: Callable[[list[str], str], int]
    command = import_module(_MODULES.get(name, f"patchwork_env.learning.commands.{name}")).main
    return command(rest, f"{PROGRAM} {name}")


if __name__ == "__main__":
    sys.exit(main())

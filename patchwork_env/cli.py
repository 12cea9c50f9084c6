"""The command ``patchwork-env``, with a subcommand for each script in ``training/``.

A subcommand is imported when it is called, so that ``patchwork-env --help`` is quick and needs no PyTorch.
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
    "play": "a page in the browser to play and analyse on",
    "train": "train a policy by self-play from a configuration",
    "evaluate": "measure an agent against others",
    "tournament": "a round robin among agents, with ratings",
    "gauntlet": "an agent's rating against a fixed pool of reference players",
    "review": "a game, move by move: who was ahead when, and which moves cost most",
    "analyse": "a position: its best moves, what to expect of them, and lines of play",
    "report": "a page about a run, or about several",
    "compare": "configurations by several runs of each: tables, curves, and how sure they are",
    "dataset": "record games as a dataset of Minari",
    "export": "write the policy of a checkpoint as an ONNX file",
    "publish": "a checkpoint on the Hugging Face Hub, with a page of its figures",
    "compile": "compile games and agents now, instead of when each is first used",
    "engine": "lines of JSON on stdin and stdout: choose moves, analyse, for programs in any language",
    "mcp": "both games for language models that use tools, over stdin and stdout",
    "openenv": "a server on which language models learn to play, in words",
}
"""The subcommands, each with a phrase about what it does."""

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
    if name in _VERSION and not rest:
        print(f"{PROGRAM} {__version__}")
        return 0
    if name in _VERSION:
        print(
            f"{PROGRAM}: unknown argument {short_repr(rest[0])} after {name}; give {name} alone",
            file=sys.stderr,
        )
        return 2
    if name not in COMMANDS:
        problem = f"there is no command {short_repr(name)}; {did_you_mean(name, COMMANDS)}"
        print(f"{PROGRAM}: {problem}", file=sys.stderr)
        return 2
    command: Callable[[list[str], str], int]
    command = import_module(_MODULES.get(name, f"patchwork_env.learning.commands.{name}")).main
    return command(rest, f"{PROGRAM} {name}")


if __name__ == "__main__":
    sys.exit(main())

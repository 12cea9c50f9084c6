"""Plays agents of two versions of this project against each other: did a change make them stronger?

    git worktree add ../before HEAD~1
    python benchmarks/versions.py ../before [--agent SPEC] [--opponent SPEC] [--games N]
        [--sprt H0 H1] [--seed S] [--workers N] [--json]

The agent is of this version; the opponent is of the version in the folder, in another process. Every circle
is played from both seats. Levels of the champion are budgets of effort, not of time. If the versions take
different times for the same effort, compare the speed too, with `benchmarks/champion.py` of each.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from patchwork_env import agents
from patchwork_env.patchwork.state import STATE

# The other version runs this file, too, and may lack all modules except the two above.

_SERVE = "--serve"


class OtherVersion(agents.Agent):
    """An agent of the version of this project in a folder.

    Args:
        folder: The folder of a checkout.
        spec: The spec of the agent, as that version understands it.

    Raises:
        ValueError: The agent cannot be loaded there, or records of games differ.
    """

    games = ("patchwork",)

    def __init__(self, folder: Path, spec: str) -> None:
        self.name = f"{spec} in {folder}"
        self._folder, self._spec = folder, spec
        command = [sys.executable, os.path.abspath(__file__), _SERVE, spec]
        environment = os.environ | {"PYTHONPATH": str(folder.resolve())}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        form = self._answer()
        if form != repr(STATE):
            raise ValueError(f"records of games in {folder} are {form}; they must be {STATE!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return OtherVersion, (self._folder, self._spec)

    def act(self, game: Any) -> int:
        """See :meth:`Agent.act`."""
        return int(self.act_batch(game.state)[0])

    def act_batch(self, states: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
        """See :meth:`Agent.act_batch`."""
        assert self._process.stdin is not None
        self._process.stdin.write(states.tobytes().hex() + "\n")
        self._process.stdin.flush()
        return np.array(self._answer().split(), np.int64)

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ValueError(f"{self.name} has ended; see its messages")
        return line.rstrip("\n")


def serve(spec: str) -> None:
    """Answers lines of records with lines of actions."""
    agent = agents.load(spec)
    print(repr(STATE), flush=True)
    for line in sys.stdin:
        states = np.frombuffer(bytes.fromhex(line), STATE).copy()
        print(*agent.act_batch(states).tolist(), flush=True)


def main() -> None:
    if sys.argv[1:2] == [_SERVE]:
        serve(sys.argv[2])
        return
    from patchwork_env.learning.evaluation import play_matches
    from patchwork_env.learning.evaluation.sequential import MOST_GAMES
    from patchwork_env.learning.system import describe_setup

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of the other version")
    parser.add_argument("--agent", metavar="SPEC", default="champion", help="(default: %(default)s)")
    parser.add_argument(
        "--opponent", metavar="SPEC", help="the agent of the other version (default: as --agent)"
    )
    parser.add_argument(
        "--games",
        type=int,
        help=f"how many, an even number (default: 400; with --sprt at most {MOST_GAMES:,})",
    )
    parser.add_argument(
        "--sprt",
        type=float,
        nargs=2,
        metavar=("H0", "H1"),
        help="end once a test decides between these in Elo",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the circles (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in the last line")
    options = parser.parse_args()
    try:
        if not (options.folder / "patchwork_env").is_dir():
            raise ValueError(f"{options.folder} has no folder patchwork_env; give a checkout of this project")
        other = OtherVersion(options.folder, options.opponent or options.agent)
        games = options.games if options.games is not None else MOST_GAMES if options.sprt else 400
        result = play_matches(
            options.agent, other, games, options.seed, workers=options.workers, sprt=options.sprt
        )
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    low, high = result.interval
    print(describe_setup())
    print(f"{options.agent} against {other.name}, {len(result.games)} games, seed {options.seed}")
    print(f"wins {result.win_rate:.1%} (95% interval {low:.1%} to {high:.1%})")
    for line in result.test.lines() if result.test else ():
        print(line)
    if options.json:
        test = {"sprt": result.test.as_dict()} if result.test else {}
        print(json.dumps({"win_rate": result.win_rate, "interval": [low, high], **test}))


if __name__ == "__main__":
    main()

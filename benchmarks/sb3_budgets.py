"""Measures the win rates of sb3-contrib's MaskablePPO with small budgets, over seeds.

python benchmarks/sb3_budgets.py [--steps N ...] [--seeds N ...] [--games N] [--write]

Runs the first script of docs/train/sb3.md with other numbers of decisions and seeds. Another run for every
seed has ``MlpPolicy``, sb3-contrib's policy with a plain layer of 2026 outputs, instead of the network of the
game. Minutes are processor times of ``learn`` on one thread, so that other work on the machine matters
little. The models then play against greedy and random.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any
from unittest import mock

from sb3_contrib import MaskablePPO

from benchmarks.environments import positive
from benchmarks.keeping import Figures, add_write_option, figure, keep
from patchwork_env.integrations.sb3 import evaluate

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "train" / "sb3.md"
STEPS, SEEDS = (65_536, 196_608, 655_360), (0, 1, 2)
MLP_STEPS = 131_072
POLICIES = {"network": "PatchworkPolicy", "mlp": "MlpPolicy"}


def script(page: Path, policy: str, steps: int, seed: int, games: int) -> str:
    """The first block of code of a page with another policy, budget, seed and number of games."""
    code = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[0]
    changes = [
        (r"^STEPS, SEED = [\d_]+, \d+", f"STEPS, SEED = {steps}, {seed}"),
        (r"\bgames=\d+", f"games={games}"),
    ]
    if policy == "mlp":
        changes.append((r"^    PatchworkPolicy,\n    env,$", '    "MlpPolicy",\n    env,'))
    for pattern, replacement in changes:
        code, times = re.subn(pattern, replacement, code, flags=re.MULTILINE)
        if times != 1:
            raise ValueError(f"{page} has {times} matches of {pattern}; there must be one")
    return code


def train(page: Path, policy: str, steps: int, seed: int, games: int) -> dict[str, Any]:
    """Runs the script in an empty folder; returns its figures."""
    code, learn, minutes = script(page, policy, steps, seed, games), MaskablePPO.learn, 0.0

    def timed_learn(*arguments: Any, **options: Any) -> Any:
        nonlocal minutes
        began = time.process_time()
        try:
            return learn(*arguments, **options)
        finally:
            minutes += (time.process_time() - began) / 60

    names: dict[str, Any] = {"__name__": "script"}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(MaskablePPO, "learn", timed_learn):
        try:
            os.chdir(folder)
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, str(page), "exec"), names)
            against_random = evaluate("model.zip", against="random", games=min(games, 200))
        finally:
            os.chdir(here)
    result = names["result"]
    return {
        "policy": policy,
        "steps": names["model"].num_timesteps,
        "seed": seed,
        "turns": names["env"].turns,
        "minutes": round(minutes, 2),
        "games": games,
        "win_rate": result.win_rate,
        "interval": list(result.interval),
        "against_random": against_random.win_rate,
    }


def over_seeds(runs: list[dict[str, Any]]) -> Figures:
    """Return the results of all runs, by policy and budget."""
    wins = [run["win_rate"] for run in runs]
    more = {"lowest": min(wins), "highest": max(wins), "wins": wins, "runs": len(runs)}
    more |= {"minutes": round(mean(run["minutes"] for run in runs), 1), "games": runs[0]["games"]}
    more |= {"policy": POLICIES[runs[0]["policy"]], "decisions": runs[0]["steps"]}
    random = figure(mean(run["against_random"] for run in runs), "share")
    name = f"{runs[0]['policy']} {runs[0]['steps']}"
    return {name: figure(mean(wins), "share", **more), f"random, {name}": random}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", nargs="*", type=positive(int), default=STEPS, help="budgets, in decisions")
    parser.add_argument("--mlp-steps", type=int, default=MLP_STEPS, help="that of MlpPolicy; 0 for none")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, help="(default: 0 1 2)")
    parser.add_argument("--games", type=positive(int), default=1000, help="against greedy (default: 1000)")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="with the script")
    add_write_option(parser)
    options = parser.parse_args()
    budgets = [("network", steps) for steps in options.steps] + [("mlp", options.mlp_steps)]
    for policy, steps in filter(lambda budget: budget[1], budgets):
        runs = []
        for seed in options.seeds:
            runs.append(run := train(options.page, policy, steps, seed, options.games))
            print(
                f"{policy:8} {run['steps']:8,} decisions, seed {seed}: {run['minutes']:.2f} minutes, "
                f"wins {run['win_rate']:.1%}",
                flush=True,
            )
        if options.write:
            keep("sb3_budgets", over_seeds(runs), options.write)


if __name__ == "__main__":
    main()

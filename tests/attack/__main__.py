"""Runs attacks: ``python -m tests.attack [NAMES…] [--minutes M | --attempts N] [--seed S] [--json FILE]``.

The exit code is 1 if anything broke; every failure comes with the command that repeats it.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import secrets
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tests.attack import frame


def main() -> int:
    """Runs the attacks that the command line names, and prints a table."""
    options = _options()
    attacks = frame.find_attacks()
    for name in _chosen(frame.left_out(), options.names):
        print(f"{name} is left out: {frame.left_out()[name]} is not installed")
    names = _chosen(attacks, options.names)
    if not names:
        raise SystemExit(f"there is no attack {' '.join(options.names)}; there are {', '.join(attacks)}")
    if options.attempt is not None:
        for name in names:
            inputs = frame.attempt(name, attacks[name], options.seed, options.attempt)
            print(name, inputs, "inputs, nothing broke")
        return 0
    seconds = None if options.attempts else 60 * options.minutes
    print(f"{len(names)} attacks with seed {options.seed}", flush=True)
    results = frame.run(
        names,
        options.seed,
        seconds=seconds,
        attempts=options.attempts,
        workers=options.workers,
        timeout=options.timeout,
    )
    print(_table(results))
    if options.json:
        found = {name: asdict(result) for name, result in results.items()}
        options.json.write_text(json.dumps({"seed": options.seed, "attacks": found}, indent=1) + "\n")
    return int(any(result.failures for result in results.values()))


def _chosen(names: Iterable[str], patterns: list[str]) -> list[str]:
    """The names that one of the patterns matches."""
    return [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.attack", description=__doc__)
    parser.add_argument("names", nargs="*", default=["*"], help="names of attacks or patterns; default: all")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--minutes", type=float, default=1.0, help="minutes for all together (default: 1)")
    amount.add_argument("--attempts", type=int, help="attempts of each attack instead of minutes")
    amount.add_argument("--attempt", type=int, help="repeat this one attempt in this process")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="default: a fresh one")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--timeout", type=float, default=frame.TIMEOUT, help="seconds for one attempt")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    return parser.parse_args()


def _table(results: dict[str, frame.Result]) -> str:
    """The counts of every attack and of all together, as text."""
    counts = {
        name: (result.attempts, result.inputs, len(result.failures), round(result.seconds))
        for name, result in results.items()
    }
    counts["all"] = tuple(map(sum, zip(*counts.values(), strict=True)))
    width = max(map(len, ("attack", *counts)))
    lines = [f"{'attack':<{width}}  attempts       inputs  failures  seconds"]
    lines += [
        f"{name:<{width}}  {attempts:>8,}  {inputs:>11,}  {failures:>8,}  {seconds:>7,}"
        for name, (attempts, inputs, failures, seconds) in counts.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

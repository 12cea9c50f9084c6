"""Runs attacks: ``python -m tests.attack [NAMES…] [--minutes M | --attempts N] [--seed S]``.

The exit code is 1 if anything broke; every failure comes with the command that repeats it.
"""

import argparse
import fnmatch
import os
import secrets
import sys

from tests.attack import frame


def main():
    """Runs the attacks that the command line names, and prints a table."""
    options = _options()
    attacks = frame.find_attacks()
    names = [name for name in attacks if any(fnmatch.fnmatch(name, pattern) for pattern in options.names)]
    if not names:
        raise SystemExit(f"there is no attack {' '.join(options.names)}; there are {', '.join(attacks)}")
    if options.attempt is not None:
        for name in names:
            inputs = frame.attempt(name, attacks[name], options.seed, options.attempt)
            print(name, inputs, "inputs, nothing broke")
        return 0
    print(f"{len(names)} attacks with seed {options.seed}; not installed: {frame.left_out()}", flush=True)
    results = frame.run(
        names,
        options.seed,
        seconds=None if options.attempts else 60 * options.minutes,
        attempts=options.attempts,
        workers=options.workers,
        timeout=options.timeout,
    )
    print(f"{'attack':<44} attempts   inputs failures seconds")
    for name, one in results.items():
        print(f"{name:<44} {one.attempts:>8} {one.inputs:>8} {one.failures:>8} {one.seconds:>7.0f}")
    return int(any(result.failures for result in results.values()))


def _options():
    parser = argparse.ArgumentParser("python -m tests.attack", description=__doc__)
    parser.add_argument("names", nargs="*", default=["*"], help="names of attacks or patterns; default: all")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--minutes", type=float, default=1.0, help="minutes for all together (default: 1)")
    amount.add_argument("--attempts", type=int, help="attempts of each attack instead of minutes")
    amount.add_argument("--attempt", type=int, help="repeat this one attempt in this process")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="default: a fresh one")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--timeout", type=float, default=frame.TIMEOUT, help="seconds for one attempt")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

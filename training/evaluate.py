"""Measure an agent against others: every circle of Patchwork from both seats, every deck of NMBR 9 once.

python -m training.evaluate greedy --against random --games 1000

The same in Python; an agent is a spec, an ``Agent``, or a function from a game to an action:

    from patchwork_env.learning.evaluation import play_matches

    result = play_matches("runs/quick/final", "greedy", games=400, seed=0)
    print(result.win_rate, result.interval)    # the share of games won, and its 95% interval
    print(result.table())
"""

from patchwork_env.learning.commands.evaluate import main

if __name__ == "__main__":
    raise SystemExit(main())

"""Give an agent a rating: it meets a fixed pool of reference players under frozen settings.

python -m training.gauntlet runs/ppo/final --json result.json

The same in Python, with any function from a game to an action:

    from patchwork_env.learning.evaluation import play_gauntlet

    result = play_gauntlet(my_function, workers=2)
    print(result.rating, result.interval)
"""

from patchwork_env.learning.commands.gauntlet import main

if __name__ == "__main__":
    raise SystemExit(main())

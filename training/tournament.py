"""A round robin: every agent meets every other with the same circles or decks, and all get ratings.

python -m training.tournament random greedy ppo-quick ppo --games 400 --out runs/tournament

The same in Python; games are kept in the folder, and what is there is not played again:

    from pathlib import Path

    from patchwork_env.learning.evaluation import Tournament

    tournament = Tournament.enter(["random", "greedy", "ppo-quick"], games=400)
    standings = tournament.play(Path("runs/tournament"), workers=2)
    print(standings.table())
"""

from patchwork_env.learning.commands.tournament import main

if __name__ == "__main__":
    raise SystemExit(main())

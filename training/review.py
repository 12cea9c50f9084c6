"""Review a game of Patchwork: the odds after every move, and the costliest mistakes, as text and as a page.

python -m training.review examples/game.txt

The same in Python; the agent is a search with a learned value:

    from patchwork_env import agents
    from patchwork_env.learning.reports.review import review, text
    from patchwork_env.patchwork import Game

    game = Game.from_notation(open("examples/game.txt").read())
    print(text(review(game, agents.load("champion:fast"))))
"""

from patchwork_env.learning.commands.review import main

if __name__ == "__main__":
    raise SystemExit(main())

"""How games are brought into mid-play."""


def random_action(game, rng, style="any"):
    """A legal action: any; one that buys, if there is one; or one that also stays near the top-left."""
    actions = game.legal_actions().tolist()
    if style == "any" or len(actions) == 1:
        return rng.choice(actions)
    purchases = actions[1:]
    if style == "packs":
        nearest = min(map(_steps_from_corner, purchases))
        purchases = [action for action in purchases if _steps_from_corner(action) == nearest]
    return rng.choice(purchases)


def _steps_from_corner(action):
    return sum(divmod((action - 1) % 81, 9))

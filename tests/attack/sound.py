"""Requirements of objects from mutated inputs, and of errors about such inputs."""

import re

from patchwork_env.testing import check_position

SPECS = (
    *("random", "greedy", "champion:nodes=2", "nmbr9_champion:nodes=2"),
    *("os:getcwd", "program:false", "runs/none"),
)
"""Quick agents, and specs that are refused; numbers are not changed, since larger ones take longer."""
_LONGEST_MESSAGE = 1000
_LONGEST_LINE = 4000
"""The maximum length of a message that may name several files."""
_FROM_INSIDE = re.compile(
    "invalid literal|to unpack|has no attribute|broadcast|index out of|out of range|'NoneType' object|"
    "is not iterable|not supported between|unhashable|ambiguous|codec can't|zip\\(\\)|"
    "cannot be interpreted|expected str|must be real number|(min|max)\\(\\) |too large"
)
"""Words of Python's and NumPy's own messages, which do not describe the input."""


def require_message(error):
    """Require that the message of an error is short, not empty, and not one of Python's or NumPy's own."""
    message = str(error)
    assert message.strip(), f"{error!r} says nothing"
    named = getattr(error, "filename", None)  # by the system, as long as it is
    assert named or len(message) < _LONGEST_MESSAGE, f"a message of {len(message)} letters: {message[:200]}…"
    assert not _FROM_INSIDE.search(message), f"a message from inside: {message}"


def require_line(error):
    """Require that the message of an error is one line, not empty and not too long."""
    message = str(error).partition("\n    ")[0]
    is_line = message.strip() and "\n" not in message and len(message) < _LONGEST_LINE
    assert is_line, f"a message of {len(message)} characters: {message[:300]}"


def refused_or(make, *given, errors=ValueError, require=require_message, **named):
    """The result of ``make``; None if it raises one of ``errors`` with a suitable message."""
    try:
        return make(*given, **named)
    except errors as error:
        require(error)
        return None


def play(rules, game, random, moves=None):
    """Play random moves to the end, or at most ``moves``."""
    while not game.is_over and moves != 0:
        game.play(random.choice(game.legal_actions()))
        moves = None if moves is None else moves - 1


def require_sound(rules, game, random):
    """Play a game to its end, and check it before, between and after.

    Raises:
        AssertionError: Something about the game is inconsistent.
    """
    for moves in (0, int(random.integers(40)), None):
        play(rules, game, random, moves)
        check_position(game, int(random.integers(2**32)))


def started(rules, random, **options):
    """A random game after some random moves."""
    game = rules.game(seed=int(random.integers(2**63)), **options)
    play(rules, game, random, int(random.integers(60)))
    return game


def pick(random, options):
    """One of the options, whatever their types."""
    options = list(options)
    return options[random.integers(len(options))]

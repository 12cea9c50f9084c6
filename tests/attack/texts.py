"""Mutated texts: games in notation, positions, moves in words and phrases, settings, and specs of agents."""

from __future__ import annotations

import dataclasses
from functools import partial

from numpy.random import Generator

from patchwork_env import agents, games
from patchwork_env.agents import hub
from patchwork_env.core.game import Rules
from patchwork_env.errors import IllegalActionError
from patchwork_env.integrations import text as text_view
from patchwork_env.integrations.text.episode import GAME_OPTIONS, Episode, Settings
from patchwork_env.service.players import Players
from patchwork_env.testing import check_position
from tests.attack.mutations import ODD_VALUES, mutate_text
from tests.attack.sound import pick, refused_or, require_sound, started

BATCH = 100


def notation(name: str, random: Generator) -> int:
    """Games in notation; what is read back must be written as the same game again."""
    rules = games.rules_of(name)
    text, other = (started(rules, random).notation() for _ in range(2))
    for _ in range(BATCH):
        game = refused_or(rules.game.from_notation, mutate_text(text, random, other))
        if game is not None:
            check_position(game)
    return BATCH


def positions(name: str, random: Generator) -> int:
    """Positions, whose fields are also exchanged with those of another position."""
    rules = games.rules_of(name)
    game, other = started(rules, random), started(rules, random)
    text, other_text = game.position_text(), other.position_text()
    fields, others = ([field.split("=", 1) for field in line.split()[1:]] for line in (text, other_text))
    for number in range(BATCH):
        if number % 2:
            changed = mutate_text(text, random, other_text)
        else:
            values = dict(fields)
            for field, value in random.permutation(others)[: random.integers(1, 4)]:
                values[str(field)] = mutate_text(str(pick(random, (value, values.get(field, "")))), random)
            words = [f"{field}={value}" for field, value in values.items()]
            changed = " ".join([text.split()[0], *words])
        _try_position(rules, changed, random)
    return BATCH


def _try_position(rules: Rules, text: str, random: Generator) -> None:
    game = refused_or(rules.game.from_position, text)
    if game is not None:
        require_sound(rules, game, random)


def words(name: str, random: Generator) -> int:
    """Words for moves: an action that is legal and has this very word again, or an IllegalActionError."""
    rules = games.rules_of(name)
    game = started(rules, random)
    legal = game.legal_actions()
    if game.is_over:
        return 1
    for _ in range(BATCH):
        word, other = (game.move_text(action) for action in random.choice(legal, 2))
        action = refused_or(game.parse_move, mutate_text(word, random, other), errors=IllegalActionError)
        if action is not None:
            assert action in legal, f"{action} is not legal"
            assert game.parse_move(game.move_text(action)) == action
    return BATCH


_PHRASES = (
    *("advance", "buy patch 12 in orientation 3 at d5", "Move: **12/3@d5**", "place the special patch at d5"),
    *("place tile 7, orientation 3, at row -2, column 5", "choose tile 7", "moves", "rules", "position"),
    *(
        "placements of patch 12 orientation 3 row 2 page 2",
        "placements of tile 7 level 1",
        "shapes of tile 7",
        "<think>Move: +</think>\n<answer>12/3@d5</answer><|im_end|>",
        '{"move": "7/3@-2,5", "reason": "\\boxed{+}"}',
    ),
)


def phrases(name: str, random: Generator) -> int:
    """What language models may say: a legal action, an answer, or an error of one or two lines."""
    rules = games.rules_of(name)
    game = started(rules, random)
    before = game.to_bytes()
    for number in range(BATCH // 10):
        known = game.move_text(random.choice(game.legal_actions())) if not game.is_over else "+"
        phrase = mutate_text(pick(random, _PHRASES) if number % 2 else known, random, pick(random, _PHRASES))
        if text_view.is_request(phrase):
            refused_or(text_view.ask, game, phrase)
            continue
        action = refused_or(text_view.parse, game, phrase, errors=IllegalActionError)
        assert action is None or action in game.legal_actions(), f"{action} is not legal"
    assert game.to_bytes() == before
    return BATCH // 10


_WORDS = ("loss", "random", "score")


def settings(name: str, random: Generator) -> int:
    """Settings of an episode in words, of any types: an episode that begins, or an error."""
    own = tuple(entry.name for entry in dataclasses.fields(Settings))
    names = (*own, *GAME_OPTIONS[name], "seed", "\0")
    for _ in range(BATCH // 10):
        given = {
            pick(random, names): pick(random, (*ODD_VALUES, 2, "2", [7], *_WORDS))
            for _ in range(random.integers(1, 4))
        }
        changed = refused_or(Settings(name, opponent="random").changed, given)
        episode = changed and refused_or(Episode, changed, Players(), int(random.integers(2**32)))
        assert episode is None or episode.first.text
    return BATCH // 10


_SPECS = (
    *("random", "greedy", "mcts:simulations=400", "champion:level=fast,aim=score", "champion:fast", "uct"),
    *("runs/quick/final:simulations=64,sample=true", "policy.onnx:sample=true", "beam:width=8", "a/b/c"),
)


def specs(random: Generator) -> int:
    """Specs of agents: an agent, or an error that ``agents.load`` documents."""
    documented = (ValueError, FileNotFoundError)
    for _ in range(BATCH):
        spec = mutate_text(pick(random, _SPECS), random, pick(random, _SPECS))
        agent = refused_or(agents.load, spec, errors=documented)
        assert agent is None or isinstance(agent, agents.Agent)
        refused_or(agents.path_of, spec, errors=documented)
    return BATCH


def hub_names(random: Generator) -> int:
    """Names of repositories of the Hugging Face Hub: two words and a revision that lead out of no folder."""
    for _ in range(BATCH):
        name = mutate_text("hf:ann/quick@refs/pr/1", random, pick(random, ("../..", "hf:b/c", "/.", "@x")))
        found = refused_or(hub.repository_of, name, errors=ValueError)
        parts = f"{found[0]}/{found[1] or 'main'}".split("/") if found else []
        assert not [part for part in parts if not part or part.startswith(".") or not part.isascii()], name
    return BATCH


ATTACKS = {
    f"{attack.__name__}_{name}": partial(attack, name)
    for attack in (notation, positions, words, phrases, settings)
    for name in (games.PATCHWORK, games.NMBR9)
} | {"specs": specs, "hub_names": hub_names}

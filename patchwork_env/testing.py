"""Checks of the contracts of your own games and agents, for their tests.

>>> from patchwork_env.patchwork.rules import RULES
>>> from patchwork_env.testing import check_agent, check_game
>>> check_game(RULES, games=1)
>>> check_agent("random", games=1)

Each check plays random games. It raises AssertionError at the first broken promise, with the position. Only a
second implementation can show whether the rules themselves are right.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

from patchwork_env import agents
from patchwork_env.agents import Agent
from patchwork_env.core.batches import begin_games, loop, play_listed, write_views
from patchwork_env.core.checks import seed_streams
from patchwork_env.core.game import BaseGame
from patchwork_env.core.rules import Rules
from patchwork_env.errors import IllegalActionError
from patchwork_env.games import rules_of

__all__ = ["check_agent", "check_game", "check_position"]

_MOST_MOVES = 100_000  # of a random game


def check_game(rules: Rules, *, games: int = 10, seed: int = 0, **options: Any) -> None:
    """Play random games of yours and check the contract of environments, agents and files.

    ``seed`` is that of the games and of the random moves.
    """
    kind, draw = rules.game, np.random.default_rng(seed)
    assert kind.rules is rules, f"{rules.module}.Game.rules must be {rules!r}, not {kind.rules!r}"
    assert copy.deepcopy(rules) is rules, "copies and pickles of the rules must be the rules themselves"
    assert not rules.dtype.hasobject, "records must hold no Python objects"
    assert "current_player" in (rules.dtype.names or ()), "records must have a field current_player"
    for number in range(games):
        game = kind(seed + number, **options)
        assert game == kind(seed + number, **options), "the same seed must begin the same game"
        while not game.is_over:
            if draw.random() < 0.2:
                check_position(game, int(draw.integers(2**32)))
            _check_move(game, int(draw.choice(game.legal_actions())))
            assert game.num_moves < _MOST_MOVES, _broken("a game must end", game)
        check_position(game)
        _check_end(game)
        _check_history(game)
    _check_damaged(kind(seed, **options), draw)
    _check_batch(rules, seed, options, draw)


def check_position(game: BaseGame, seed: int = 0) -> None:
    """Check one position: its legal actions, its observations, and that all formats restore it.

    The game is left as it was. ``seed`` is that of the sampled hidden information.
    """
    before, history = game.to_bytes(), game.history
    _check_legal(game)
    _check_views(game)
    _check_formats(game)
    _check_hidden(game, seed)
    assert (game.to_bytes(), game.history) == (before, history), _broken("queries must not change it", game)


def _broken(promise: str, game: BaseGame) -> str:
    return f"{promise}: {game.position_text()}"


def _check_legal(game: BaseGame) -> None:
    rules, kernels = game.rules, game.rules.kernels
    legal_set = np.empty(kernels.legal_shape, np.uint64)
    count = kernels.legal(game.state, 0, legal_set)
    number = kernels.write_actions(legal_set, np.empty(rules.num_actions, np.int16)) if count else 0
    assert count == number, _broken(f"legal must return the number of actions, {number}, not {count}", game)
    most = rules.max_legal_actions
    assert count <= most, _broken(f"{count} actions are legal, of max_legal_actions {most}", game)
    legal = game.legal_actions().tolist()
    assert game.is_over == (count == 0), _broken("there must be legal actions until the game is over", game)
    mask = np.full(rules.num_actions, 7, np.int8)
    assert kernels.legal_mask(game.state, 0, mask) == count, _broken("legal_mask must count", game)
    ones = np.zeros(rules.num_actions, np.int8)
    ones[legal] = 1
    assert np.array_equal(mask, ones), _broken("the mask must have a 1 for each legal action", game)
    assert np.flatnonzero(mask).tolist() == legal, _broken("legal actions must be listed in order", game)
    chosen = [kernels.nth_legal(legal_set, n) for n in range(count)]
    assert chosen == legal, _broken("nth_legal must agree with the list", game)
    others = [-1, rules.num_actions, 2**40, *np.flatnonzero(mask == 0)[:: max(1, rules.num_actions // 100)]]
    for actions, expected in ((legal, True), (others, False)):
        agree = all(kernels.is_legal(game.state, 0, int(action)) == expected for action in actions)
        assert agree, _broken("is_legal must agree with the list", game)
    assert len(game.legal_moves()) == count, _broken("every legal action must be a move", game)
    for action in legal[:: max(1, count // 50)]:
        assert game.encode(game.decode(action)) == action, _broken("encode must invert decode", game)
        word = game.move_text(action)
        assert game.parse_move(word) == action, _broken("parse_move must invert move_text", game)
        assert word.split() == [word], _broken("a move must be one word", game)


def _check_views(game: BaseGame) -> None:
    rules = game.rules
    assert 0 <= game.current_player < game.num_players <= rules.max_players, _broken("players", game)
    for player in range(game.num_players):
        seen = [np.full(rules.layout.size, fill, np.float32) for fill in (np.nan, 3e38)]
        for vector in seen:
            rules.kernels.write_observation(game.state, 0, player, vector)
        same = np.array_equal(seen[0], seen[1]) and np.array_equal(seen[0], game.observation(player))
        assert same, _broken("write_observation must write every entry", game)
        fits = ((seen[0] >= 0) & (seen[0] <= rules.layout.upper_bounds)).all()
        assert fits, _broken("observations must lie within 0 and layout.upper_bounds", game)
    assert all((str(game), repr(game))), _broken("a game must have a text", game)


def _check_formats(game: BaseGame) -> None:
    kind = type(game)
    try:
        kind.check_states(game.state)
    except ValueError as error:
        raise AssertionError(_broken(f"every state of a game must be accepted ({error})", game)) from None
    text = game.position_text()
    assert "\n" not in text, _broken("a position must be one line", game)
    for again in (
        kind.from_bytes(game.to_bytes()),
        kind.from_state(game.state),
        kind.from_position(text),
        kind.from_notation(game.notation()),
        pickle.loads(pickle.dumps(game)),  # noqa: S301 (written in the same line)
        copy.deepcopy(game),
    ):
        assert again == game, _broken("bytes, texts and copies must restore the game", game)
        assert hash(again) == hash(game), _broken("equal games must have equal hashes", game)
    assert kind.from_notation(game.notation()).history == game.history, _broken("notation", game)


def _check_hidden(game: BaseGame, seed: int) -> None:
    other = game.determinize(seed)
    views = [(each.observation(), _visible_scores(each)) for each in (game, other)]
    assert all(map(np.array_equal, *views)), _broken("determinize must not be seen", game)
    same = np.array_equal(other.legal_actions(), game.legal_actions())
    assert same, _broken("determinize must leave the legal actions", game)
    game.check_states(other.state)
    game.check_states(game.public().state)


def _visible_scores(game: BaseGame) -> list[int]:
    score, player = game.rules.kernels.visible_score, game.current_player
    return [score(game.state, 0, player, other) for other in range(game.num_players)]


def _check_move(game: BaseGame, action: int) -> None:
    """Play an action after checking that it can be undone and that illegal actions are refused."""
    before, player, scores = game.clone(), game.current_player, game.scores()
    for wrong in (-1, game.rules.num_actions, int(game.action_mask().argmin())):
        try:
            if wrong not in game.legal_actions():
                game.play(wrong)
                raise AssertionError(_broken(f"action {wrong} must be refused", before))
        except IllegalActionError:
            pass
        assert (game, game.history) == (before, before.history), _broken("a refusal changes nothing", before)
    game.play(action)
    assert before == before.clone(), _broken("a move must not change copies", before)
    after = game.scores()
    others = [one for one in range(game.num_players) if one != player and scores[one] != after[one]]
    assert not others, _broken(f"action {action} must change no score but that of its player", before)
    assert game.undo() == action, _broken("undo must return the action", before)
    assert (game, game.history) == (before, before.history), _broken("undo must invert play", before)
    game.play(action)


def _check_end(game: BaseGame) -> None:
    winners, players = game.winners(), range(game.num_players)
    assert winners, _broken("a game that is over must have winners", game)
    if len(players) > 1:
        rewards = [game.rules.kernels.outcome(game.state, 0, player) for player in players]
        assert abs(sum(rewards)) < 1e-9, _broken(f"outcomes must add up to 0, not {rewards}", game)
        best = tuple(player for player in players if rewards[player] == max(rewards))
        assert best == winners, _broken("those with the best outcome must be the winners", game)
        if len(winners) == 1:
            assert max(rewards) == 1, _broken("a sole winner must have the outcome 1", game)


def _check_history(game: BaseGame) -> None:
    end, actions = game.clone(), game.history
    assert [game.undo() for _ in actions] == list(reversed(actions)), _broken("undo", end)
    assert game == end.root(), _broken("undo must lead back to the beginning", end)
    for action in actions:
        game.play(action)
    assert game == end, _broken("the same actions must lead to the same end", end)


def _check_damaged(game: BaseGame, draw: np.random.Generator) -> None:
    data = game.to_bytes()
    try:
        type(game).from_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        raise AssertionError("bytes with a wrong checksum must be refused")
    except ValueError:
        pass
    for _ in range(100):
        record = bytearray(game.state.tobytes())
        record[draw.integers(len(record))] ^= 1 << int(draw.integers(8))
        try:
            damaged = type(game).from_state(np.frombuffer(bytes(record), game.rules.dtype))
        except ValueError:
            continue
        while not damaged.is_over:
            damaged.play(int(draw.choice(damaged.legal_actions())))
            assert damaged.num_moves < _MOST_MOVES, _broken("an accepted state must end", damaged.root())
        type(game).check_states(damaged.state)


def _check_batch(rules: Rules, seed: int, options: dict[str, Any], draw: np.random.Generator) -> None:
    own_options = {name: value for name, value in options.items() if name in rules.options}
    states = begin_games(rules, np.repeat(seed_streams(seed), 3), **own_options)
    assert (states == states[0]).all(), "deal must draw from the stream with the index of the game"
    games = [rules.game.from_state(states, i) for i in range(3)]
    masks = np.empty((3, rules.num_actions), np.int8)
    seen, observers = np.empty((3, rules.layout.size), np.float32), np.empty(3, np.int64)
    while not any(game.is_over for game in games):
        actions = np.array([draw.choice(game.legal_actions()) for game in games], np.int64)
        loop(play_listed, rules)(states, np.arange(3), actions)
        observers[:] = states["current_player"]
        loop(write_views, rules)(states, np.arange(3), observers, masks, seen)
        for i, game in enumerate(games):
            game.play(actions[i])
            assert game == rules.game.from_state(states, i), _broken("batches must agree", game)
            assert np.array_equal(masks[i], game.action_mask()), _broken("batches must agree", game)
            assert np.array_equal(seen[i], game.observation()), _broken("batches must agree", game)


# --- agents -----------------------------------------------------------------------------------------------


def check_agent(
    agent: Agent | str, *, game: str | None = None, games: int = 2, seed: int = 0, **options: Any
) -> None:
    """Let an agent of yours play whole games, and check the contract of matches and environments.

    ``agent`` is an agent or a spec. It plays ``game``, by default each of its ``games``. ``seed`` is that of
    the games, of the agent and of the other players' random moves.
    """
    player = agents.load(agent, seed=seed) if isinstance(agent, str) else agent
    for name in player.games if game is None else (game,):
        for number in range(games):
            begun = rules_of(name).game(seed + number, **options)
            _play_with(player, begun, np.random.default_rng(seed + number))


def _play_with(agent: Agent, game: BaseGame, draw: np.random.Generator) -> None:
    rules = game.rules
    met: list[BaseGame] = []
    while not game.is_over:
        before, history = game.to_bytes(), game.history
        action = agent.act(game)
        assert isinstance(action, int), _broken(f"{agent!r} must answer an int, not {action!r}", game)
        assert (game.to_bytes(), game.history) == (before, history), _broken(f"{agent!r} changed it", game)
        assert action in game.legal_actions(), _broken(f"{agent!r} chose {action}, which is illegal", game)
        if len(met) < 5 or draw.random() < 0.1:
            met.append(game.clone())
        game.play(action if draw.random() < 0.5 else int(draw.choice(game.legal_actions())))
    for states in (game.state, np.concatenate([met[0].state, game.state])):
        try:
            agent.act_batch(states)
        except ValueError:
            continue
        raise AssertionError(_broken(f"{agent!r} must refuse a game that is over", game))
    states = np.concatenate([position.state for position in met])
    before = states.tobytes()
    agent.reseed(7)
    batch = agent.act_batch(states)
    assert batch.shape == (len(met),), f"{agent!r} must answer each game of a batch, not {batch.shape}"
    assert states.tobytes() == before, f"{agent!r} must not change the records of a batch"
    assert agent.act_batch(rules.empty_states(0)).shape == (0,), f"{agent!r} must answer an empty batch"
    agent.reseed(7)
    if agent.act_batch(states).tolist() != batch.tolist():
        return  # it uses randomness that the seed does not control
    agent.reseed(7)
    alone = [agent.act(position) for position in met]
    assert alone == batch.tolist(), f"{agent!r} must choose in a batch as in one game after the other"
    agent.reseed(7)
    determinized = [agent.act(position.determinize(number)) for number, position in enumerate(met)]
    assert determinized == alone, f"{agent!r} must not use hidden information"

"""The pool of agents for requests: loaded once, kept, and lent to one request at a time."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from patchwork_env import agents
from patchwork_env.agents import Agent, analysis
from patchwork_env.agents.hub import is_on_hub
from patchwork_env.agents.options import LEVELS
from patchwork_env.agents.partner import BEGINNER, CHAMPION
from patchwork_env.agents.specs import import_agent, is_import, runs_code
from patchwork_env.core.checks import as_action
from patchwork_env.core.game import BaseGame
from patchwork_env.core.messages import reason_of
from patchwork_env.core.names import short_repr
from patchwork_env.errors import OpponentError
from patchwork_env.games import part_of, rules_of
from patchwork_env.service.positions import action_of, known_game

ANALYSIS = "analysis"
"""The level of the champion for analyses that name no agent."""
PARTNER = "partner"  # the agent that plays like people
_OTHERS = ("greedy", "random", "mcts", "uct")
_LEARNED = ("ppo", "ppo-quick")  # they need PyTorch
_DEFAULTS = {"mcts": "mcts:seconds=1", "uct": "uct:seconds=1"}  # specs with a budget
_MOST_IDLE = 8  # the most agents that the pool keeps; each may hold the memory of a search


def champion_of(game: str, level: str) -> str:
    """Return the spec of the strongest agent of a game, with a level of :data:`LEVELS` as its budget."""
    return f"{part_of(game, 'champion')}:{level}"


class AgentPool:
    """Agents by their specs, loaded once, kept, and lent to one request at a time.

    Specs that run code (``module:name``) or start a download (``hf:owner/name``) must be among the
    ``trusted`` ones. The user names these on the command line with ``option``.
    """

    def __init__(self, trusted: Collection[str] = (), option: str = "--opponent") -> None:
        self.trusted, self._option = tuple(dict.fromkeys(trusted)), option
        self._idle: list[tuple[str, Agent]] = []  # in the order of their last use
        self._games: dict[str, Sequence[str]] = {}  # that the agents loaded so far play
        self._lock = threading.Lock()

    def listed(self, game: str) -> list[dict[str, Any]]:
        """Return the agents that the page lists for a game, first the trusted ones that play it.

        Each has a ``spec`` and a ``kind``, ``"partner"`` or ``"champion"`` with a ``level``, or ``"other"``.
        """
        names, levels = agents.names(known_game(game)), range(BEGINNER, CHAMPION + 1)
        others = [*_OTHERS, *(_LEARNED if find_spec("torch") else ())]
        usual: list[dict[str, Any]] = [
            *({"spec": f"{PARTNER}:level={level}", "kind": PARTNER, "level": level} for level in levels),
            *({"spec": champion_of(game, level), "kind": "champion", "level": level} for level in LEVELS),
            *({"spec": _DEFAULTS.get(name, name), "kind": "other"} for name in others if name in names),
        ]
        specs = [entry["spec"] for entry in usual]
        further = [spec for spec in self.trusted if spec not in specs and game in self._games_of(spec)]
        return [*({"spec": spec, "kind": "other"} for spec in further), *usual]

    def check(self, spec: str) -> str:
        """Return the spec; ValueError if it runs code or starts a download and the user did not name it."""
        if runs_code(spec) and spec not in self.trusted:
            does = "be downloaded" if is_on_hub(spec) else "run code"
            raise ValueError(
                f"the agent {short_repr(spec)} would {does}; start the server with {self._option} "
                f"{short_repr(spec)} if it may"
            )
        return spec

    def try_out(self, spec: str, game: str) -> None:
        """Load and keep an agent; ValueError if that fails or it does not play the game."""
        try:
            with self.borrow(spec) as agent:
                agent.check_game(known_game(game))
        except Exception as error:
            raise ValueError(reason_of(error)) from error

    @contextmanager
    def borrow(self, spec: str) -> Iterator[Agent]:
        """Yield an agent that no other request uses within the block; keep it unless the block raises."""
        agent = self._take(self.check(spec)) or (import_agent(spec) if is_import(spec) else agents.load(spec))
        self._games[spec] = agent.games
        yield agent
        with self._lock:
            self._idle = [*self._idle, (spec, agent)][-_MOST_IDLE:]

    def choice(self, game: BaseGame, spec: str, seed: int | None = None) -> dict[str, Any]:
        """Return the legal move that an agent chooses: its ``action`` and ``word``.

        Its random numbers restart from the ``seed``, if there is one. OpponentError if the agent fails.
        """
        with self._borrow_for(game, spec) as agent:
            try:
                if seed is not None:
                    agent.reseed(seed)
                action = action_of(game, as_action(agent.act(game.determinize(seed)), "its action"))
            except Exception as error:
                raise OpponentError(f"agent {short_repr(spec)} failed: {reason_of(error)}") from error
        return {"action": action, "word": game.move_text(action)}

    def analyses(self, game: BaseGame, spec: str, most: int) -> Iterator[Entry]:
        """Yield ever deeper analyses of a game by an agent; the caller may close the iterator early."""
        with self._borrow_for(game, spec) as agent, suppress(GeneratorExit):  # the agent is kept
            yield from analyses_of(game, agent, most)

    @contextmanager
    def _borrow_for(self, game: BaseGame, spec: str) -> Iterator[Agent]:
        """Borrow an agent for a move; ValueError if the game is over, or the agent does not play it."""
        if game.is_over:
            raise ValueError("the game is over")
        with self.borrow(spec) as agent:
            agent.check_game(rules_of(game.state).name)
            yield agent

    def _games_of(self, spec: str) -> Sequence[str]:
        """Return the games that an agent plays; none if it cannot be loaded."""
        if spec not in self._games:
            with suppress(Exception), self.borrow(spec):
                pass
        return self._games.get(spec, ())

    def _take(self, spec: str) -> Agent | None:
        with self._lock:
            for place in reversed(range(len(self._idle))):
                if self._idle[place][0] == spec:
                    return self._idle.pop(place)[1]
        return None


Entry = dict[str, Any]

_SEED = 0  # of the values that replace hidden information


def analyses_of(game: BaseGame, agent: Agent, most: int) -> Iterator[Entry]:
    """Yield ever deeper analyses of a running game, of at most ``most`` lines; the last is ``done``."""
    if not isinstance(agent, analysis.IncrementalAnalyst):
        raise ValueError(
            f"agent {short_repr(agent.name)} cannot analyse; agents that search with a learned value can, "
            "such as 'champion:analysis'"
        )
    game = game.determinize(_SEED)
    symmetric = agent.symmetric_moves(game) if isinstance(agent, analysis.Analyst) else {}
    latest: Entry | None = None
    depth = 0
    for lines in agent.deepen(game):
        depth = max(depth, sum(int(line.visits) for line in lines))
        if isinstance(agent, analysis.Scorer):
            shown = _by_score(game, agent, lines[:most])
        else:
            shown = _by_win(game, lines[:most], symmetric)
        latest = {"player": game.current_player, **shown, "depth": depth, "done": False}
        yield latest
    if latest is not None:
        yield {**latest, "done": True}


def _by_win(game: BaseGame, lines: Sequence[analysis.Line], symmetric: Mapping[int, Sequence[int]]) -> Entry:
    """Describe lines of a search for two players; ``symmetric`` has actions with the same next position."""
    is_first, shown = game.current_player == 0, []
    for line in analysis.without_luck(lines):
        win = float(line.win if is_first else 1 - line.win) if line.certain else None
        margin = float(line.margin if is_first else -line.margin) if line.certain else None
        others = [action for action in symmetric.get(line.action, ()) if action != line.action]
        alike = [game.move_text(action) for action in others]
        described = _line(game, line, line.variation, win=win, margin=margin, scores=None)
        shown.append({**described, "alike": alike})
    return {"win": shown[0]["win"], "margin": shown[0]["margin"], "scores": None, "lines": shown}


def _line(
    game: BaseGame, line: analysis.Line | analysis.ScoreLine, variation: Sequence[int], **figures: Any
) -> Entry:
    """Describe a move, its figures, and its variation with the players who move."""
    words = analysis.variation_words(game, variation)
    position, movers = game.clone(), []
    for action in variation:
        movers.append(position.current_player)
        position.play(action)
    return {
        "action": int(line.action),
        "word": words[0],
        **figures,
        "visits": int(line.visits),
        "exact": bool(line.exact),
        "line": list(words),
        "movers": movers,
    }


def _by_score(game: BaseGame, agent: analysis.Scorer, lines: Sequence[analysis.ScoreLine]) -> Entry:
    """Describe the lines of a search for points; the move does not change what other players expect."""
    expected, shown = agent.expected_scores(game.public()), []
    for line in lines:
        scores = [*expected]
        scores[game.current_player] = line.score
        margin = scores[0] - max(scores[1:]) if len(scores) > 1 else None
        shown.append(_line(game, line, [line.action], win=None, margin=margin, scores=scores))
    return {"win": None, "margin": shown[0]["margin"], "scores": shown[0]["scores"], "lines": shown}

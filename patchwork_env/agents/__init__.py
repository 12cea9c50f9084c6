"""Opponents: one interface for all of them, and one string, the spec, that names each.

A spec is a name, such as ``"greedy"`` or ``"ppo"``, or the path of a checkpoint folder or of an ONNX file,
with options behind a colon where there are any: ``"runs/quick/final:simulations=64"``. The budget of a search
with a learned value may stand there by its name alone: ``"champion:fast"``. It is the same string in
:func:`load`, on the command line, in a configuration file and as a Gymnasium opponent.

Agents play Patchwork, NMBR 9 or both, as :attr:`Agent.games` says, and refuse what they do not play.

Every folder in ``shipped/`` is a checkpoint that comes with the package and has the folder's name.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from patchwork_env.agents.base import Agent, BatchAgent, CallableAgent
from patchwork_env.agents.greedy import GreedyAgent
from patchwork_env.agents.patchwork.champion.levels import AIMS, FEWEST_NODES, LEVELS, MOST_NODES
from patchwork_env.agents.patchwork.mcts import MctsAgent
from patchwork_env.agents.uniform import RandomAgent
from patchwork_env.core.checks import check_one_of, check_seed
from patchwork_env.games import GAMES, NMBR9, PATCHWORK
from patchwork_env.patchwork.game import Game

if TYPE_CHECKING:
    from patchwork_env.agents.analysis import Analysis

__all__ = [
    "Agent",
    "BatchAgent",
    "CallableAgent",
    "GreedyAgent",
    "MctsAgent",
    "RandomAgent",
    "analyse",
    "as_agent",
    "load",
    "names",
    "path_of",
]

CHECKPOINT_FILE = "checkpoint.json"
"""The file that makes a folder a checkpoint."""
NETWORK, MASKABLE_PPO, VALUE = "network", "maskable_ppo", "value"
"""Kinds of policies, as checkpoints call them; a checkpoint that does not say so holds the first of them."""
SHIPPED_FOLDER = Path(__file__).parent / "shipped"
"""The checkpoints that have a name."""
PARTIAL = ".partial"
"""How the names of files and folders end that are not complete yet; they begin with a dot."""
FEWEST_SIMULATIONS = 2
"""Of an agent that plans; with a single one there would be nothing to compare."""
ANALYST = "champion:seconds=1"
"""Who analyses unless another agent is named."""
BEAM_VALUE = "nmbr9_champion"
"""The value with which ``beam`` searches unless another checkpoint is named."""
ONNX_SUFFIX = ".onnx"
"""The ending that makes a file an exported policy."""


_Reader = Callable[[str], Any]
"""Makes the value of an option from its text; its ValueError says what is allowed."""


def _as_bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text == "true"


def _as_simulations(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < FEWEST_SIMULATIONS:
        raise ValueError(f"an integer of at least {FEWEST_SIMULATIONS}")
    return int(text)


def _as_seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) or float(text) == 0:
        raise ValueError("a number above 0, such as 0.5")
    return float(text)


def _as_nodes(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or not FEWEST_NODES <= int(text) <= MOST_NODES:
        raise ValueError(f"an integer of {FEWEST_NODES} to {MOST_NODES}")
    return int(text)


def _as_width(text: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", text) or int(text) == 0:
        raise ValueError("an integer of 1 to 999999")
    return int(text)


def _as_level(text: str) -> str:
    if text not in LEVELS:
        raise ValueError(f"one of {', '.join(LEVELS)}")
    return text


def _as_aim(text: str) -> str:
    if text not in AIMS:
        raise ValueError(f"one of {', '.join(AIMS)}")
    return text


class _Kind(NamedTuple):
    """How to make the agents of one name.

    Attributes:
        make: Called with the seed and the options, each read from text.
        options: By name.
        games: That they play.
        needs_order: Whether they play only games in which the order of the tiles is known.
    """

    make: Callable[..., Agent]
    options: Mapping[str, _Reader]
    games: Sequence[str] = GAMES
    needs_order: bool = False


class _Policy(NamedTuple):
    """How to make the agents of one kind of checkpoint.

    Attributes:
        load: Called with the path, the seed and the options, each read from text.
        options: By name.
    """

    load: Callable[..., Agent]
    options: Mapping[str, _Reader]


def _from_checkpoint(name: str, path: str, seed: int | None, texts: Mapping[str, str]) -> Agent:
    from patchwork_env.agents import folders

    description = folders.read_description(Path(path))
    game, kind = description["game"], description["policy"]
    policies = _POLICIES[game]
    if kind not in policies:
        known = ", ".join(map(repr, policies)) or "none"
        raise ValueError(f"the policy of {path} is {kind!r}; this library plays of those for {game}: {known}")
    return policies[kind].load(path, seed, **_read_options(name, texts, policies[kind].options))


def _value(path: str, seed: int | None, **options: Any) -> Agent:
    """Searches if there are options, and if the value comes with the package."""
    if not options and Path(path).parent != SHIPPED_FOLDER:
        from patchwork_env.agents.patchwork.value import agent as value

        return value.load(path)
    from patchwork_env.agents.patchwork.champion import agent as champion

    return champion.load(path, **options)


def _nmbr9_value(path: str, seed: int | None, **budget: Any) -> Agent:
    """As :func:`_value`, for NMBR 9."""
    if not budget and Path(path).parent != SHIPPED_FOLDER:
        from patchwork_env.agents.nmbr9.value import agent as value

        return value.load(path)
    from patchwork_env.agents.nmbr9.champion import agent as champion

    return champion.load(path, seed, **budget)


def _learned(module: str) -> Callable[..., Agent]:
    """Loads policies by a module that needs PyTorch, which is slow to import."""

    def load(path: str, seed: int | None, **options: Any) -> Agent:
        try:
            loader = import_module(f"patchwork_env.agents.{module}")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"agents from checkpoints need {error.name}: pip install 'patchwork-env[train]'",
                name=error.name,
            ) from None
        agent: Agent = loader.load(path, seed=seed, **options)
        return agent

    return load


def _exported(path: str, seed: int | None, **options: Any) -> Agent:
    try:
        from patchwork_env.agents.patchwork import onnx_agent  # needs onnxruntime
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"agents from ONNX files need {error.name}: pip install 'patchwork-env[onnx]'", name=error.name
        ) from None
    return onnx_agent.load(path, seed=seed, **options)


def _beam(seed: int | None, value: str = BEAM_VALUE, **budget: Any) -> Agent:
    from patchwork_env.agents.nmbr9.beam import agent as beam

    path = _path_of(value)
    _check_path(path)
    return beam.load(path, seed, **budget)


_KINDS = {
    "random": _Kind(lambda seed: RandomAgent(seed), {}),
    "greedy": _Kind(lambda seed: GreedyAgent(), {}),
    "mcts": _Kind(MctsAgent, {"simulations": _as_simulations, "seconds": _as_seconds}, MctsAgent.games),
    "beam": _Kind(_beam, {"width": _as_width, "seconds": _as_seconds, "value": str}, (NMBR9,), True),
}
_EXPORT_OPTIONS: Mapping[str, _Reader] = {"sample": _as_bool}
_POLICY_OPTIONS: Mapping[str, _Reader] = {**_EXPORT_OPTIONS, "simulations": _as_simulations}
_VALUE_OPTIONS: Mapping[str, _Reader] = {"level": _as_level, "nodes": _as_nodes, "seconds": _as_seconds}
_POLICIES: Mapping[str, Mapping[str, _Policy]] = {
    PATCHWORK: {
        NETWORK: _Policy(_learned("patchwork.policy"), _POLICY_OPTIONS),
        MASKABLE_PPO: _Policy(_learned("patchwork.mlp"), _POLICY_OPTIONS),
        VALUE: _Policy(_value, {**_VALUE_OPTIONS, "aim": _as_aim}),
    },
    NMBR9: {
        NETWORK: _Policy(_learned("nmbr9.policy"), _EXPORT_OPTIONS),
        VALUE: _Policy(_nmbr9_value, _VALUE_OPTIONS),
    },
}
"""By game and kind; learned agents play one game."""
_PAIR = "[a-z_]+=[^=]*"
_SPEC = re.compile(
    rf"(?P<name>.+?)(:((?P<options>{_PAIR}(,{_PAIR})*)|(?P<level>{'|'.join(LEVELS)})))?", re.DOTALL
)


def names(game: str | None = None) -> tuple[str, ...]:
    """The agents that have a name and play any game; all others are given by the path of a checkpoint.

    ``beam`` has a name too, but plays only decks that are known, or chosen freely.

    Args:
        game: That they play, ``"patchwork"`` or ``"nmbr9"``; None for all.

    Raises:
        ValueError: There is no such game.
    """
    if game is None:
        return *_universal(GAMES), *_shipped()
    check_one_of(game, GAMES, "game")
    return *_universal((game,)), *(name for name in _shipped() if _game_of(SHIPPED_FOLDER / name) == game)


def _universal(games: Sequence[str]) -> list[str]:
    return [n for n, kind in _KINDS.items() if not kind.needs_order and set(games) & set(kind.games)]


def _shipped() -> list[str]:
    return sorted(path.parent.name for path in SHIPPED_FOLDER.glob(f"*/{CHECKPOINT_FILE}"))


def _game_of(checkpoint: Path) -> str:
    from patchwork_env.agents import folders

    game: str = folders.read_description(checkpoint)["game"]
    return game


def path_of(spec: str | os.PathLike[str]) -> Path | None:
    """Where the policy of a spec lies, whether it is there or not; None for agents without one.

    Raises:
        ValueError: The spec is empty or gives an option twice.
    """
    name, _ = _parse(os.fspath(spec))
    return None if name in _KINDS else Path(_path_of(name))


def _path_of(name: str) -> str:
    return str(SHIPPED_FOLDER / name) if name in _shipped() else name


def load(spec: str | os.PathLike[str], seed: int | None = None) -> Agent:
    """The agent of a spec.

    Args:
        spec: One of :func:`names`, or the path of a checkpoint folder or of an ONNX file. Behind ``mcts``,
            ``:simulations=400`` or ``:seconds=1`` gives the budget of a move, and behind ``beam``
            ``:width=1000`` or ``:seconds=10`` that of the plan of a game. Behind a path, or the name of a
            checkpoint, ``:sample=true`` draws actions from the policy instead of taking the likeliest, and
            that of a checkpoint with ``:simulations=64`` plans every move by a search of so many simulations.
            Checkpoints of a value have none of these, but search with ``:nodes=500`` or ``:seconds=1``, or at
            a level, one of :data:`~patchwork_env.agents.patchwork.champion.levels.LEVELS`: ``:fast`` or
            ``:level=fast``; what they play for is one of
            :data:`~patchwork_env.agents.patchwork.champion.levels.AIMS`, as in ``:level=fast,aim=score``.
        seed: Of the agent's random numbers, ``0 ... 2**64 - 1``; None for fresh ones.

    Raises:
        ValueError: There is no such agent or option, or the checkpoint is not one of these games and version.
        FileNotFoundError: The path names no checkpoint.
        ModuleNotFoundError: A checkpoint needs PyTorch, or an ONNX file onnxruntime, and it is not installed.
    """
    check_seed(seed)
    name, texts = _parse(os.fspath(spec))
    if name in _KINDS:
        kind = _KINDS[name]
        return kind.make(seed, **_read_options(name, texts, kind.options))
    if name.endswith(ONNX_SUFFIX) and not Path(name).is_dir():
        return _exported(name, seed, **_read_options(name, texts, _EXPORT_OPTIONS))
    path = _path_of(name)
    _check_path(path)
    return _from_checkpoint(name, path, seed, texts)


def as_agent(
    agent: str | os.PathLike[str] | Agent | Callable[..., Any],
    seed: int | None = None,
    game: str | None = None,
) -> Agent:
    """An agent from a spec, from a function ``game -> action``, or from an agent, which is returned as it is.

    Args:
        agent: One of these.
        seed: See :func:`load`.
        game: That the agent must play, ``"patchwork"`` or ``"nmbr9"``; None for any.

    Raises:
        ValueError: It is none of these, or does not play the game; or see :func:`load`.
        FileNotFoundError: See :func:`load`.
    """
    found = _as_agent(agent, seed)
    if game is not None:
        found.check_game(game)
    return found


def _as_agent(agent: str | os.PathLike[str] | Agent | Callable[..., Any], seed: int | None) -> Agent:
    if isinstance(agent, Agent):
        return agent
    if isinstance(agent, str | os.PathLike):
        return load(agent, seed)
    if callable(agent):
        return CallableAgent(agent)
    raise ValueError(f"{agent!r} is no agent: give a spec, an Agent or a function from a game to an action")


def analyse(game: Game, agent: str | os.PathLike[str] | Agent = ANALYST, k: int | None = None) -> Analysis:
    """What an agent that searches thinks of a game: margin, probability to win and line of play of each move.

    Args:
        game: Goes on; it is left as it was.
        agent: A search with a learned value, or its spec, whose budget is that of the analysis.
        k: The most moves that the analysis has; None for all.

    Returns:
        The moves, best first: see :mod:`patchwork_env.agents.analysis`. ``str`` makes a table of it.

    Raises:
        ValueError: The game is over, the agent cannot analyse, or ``k`` is below 1; or see :func:`load`.
        FileNotFoundError: See :func:`load`.
    """
    from patchwork_env.agents import analysis

    return analysis.analyse(game, as_agent(agent), k)


def _parse(spec: str) -> tuple[str, dict[str, str]]:
    """Takes a spec apart into the name or path and the options, which start behind the last colon."""
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise ValueError(f"the spec of an agent is empty; allowed are {_what_exists()}")
    options: dict[str, str] = {"level": match["level"]} if match["level"] else {}
    for pair in filter(None, (match["options"] or "").split(",")):
        key, _, text = pair.partition("=")
        if key in options:
            raise ValueError(f"the spec {spec!r} gives the option {key!r} twice")
        options[key] = text
    return match["name"], options


def _read_options(name: str, texts: Mapping[str, str], readers: Mapping[str, _Reader]) -> dict[str, Any]:
    values = {}
    for key, text in texts.items():
        if key not in readers:
            allowed = ", ".join(readers) or "none"
            raise ValueError(f"agent {name!r} has no option {key!r}; its options: {allowed}")
        try:
            values[key] = readers[key](text)
        except ValueError as error:
            raise ValueError(f"option {key!r} of agent {name!r} is {text!r}; it must be {error}") from None
    return values


def _check_path(path: str) -> None:
    """Raises an error that says why ``path`` is neither a name nor a checkpoint."""
    if (Path(path) / CHECKPOINT_FILE).is_file():
        return
    if Path(path).is_dir():
        raise FileNotFoundError(f"the folder {path!r} is no checkpoint: it holds no {CHECKPOINT_FILE}")
    if Path(path).exists():
        raise ValueError(f"{path!r} is a file; a checkpoint is a folder that holds a {CHECKPOINT_FILE}")
    if os.sep in path or "/" in path:
        raise FileNotFoundError(f"there is no checkpoint at {path!r}; allowed are {_what_exists()}")
    name, _, word = path.rpartition(":")
    if name in names():
        raise ValueError(
            f"agent {name!r} has no level {word!r}; levels of learned values: {', '.join(LEVELS)}"
        )
    close = difflib.get_close_matches(path, names(), n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"there is no agent {path!r}; allowed are {_what_exists()}{hint}")


def _what_exists() -> str:
    return ", ".join(map(repr, names())) + " and paths of checkpoint folders"

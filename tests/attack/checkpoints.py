"""Mutated checkpoints of all kinds, and folders of runs, which are read in all the ways that there are."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from tests.attack.mutations import mutate_bytes, mutate_text, mutate_tree
from tests.attack.sound import pick

BATCH = 5
_MOVES = 12
_LONGEST = 3000
"""The most characters of a message, which may name several files."""
_ODD_NUMBERS = (0.0, -1.0, 1e-45, 1e30, 3e38, -3e38, np.nan, np.inf, -np.inf)
_TINY = (
    "threads=1",
    "evaluation={every: 1, games: 2, final_games: 2, opponents: [random]}",
    "total_steps=100000",
)
_RUNS = {
    "ppo": (
        "quick",
        "ppo={num_envs: 4, rollout_steps: 4, minibatch_size: 8, epochs: 1}",
        "network={width: 8, depth: 1, channels: 4}",
        "league={fraction: 0.5, snapshot_every: 1, size: 2}",
    ),
    "alphazero": (
        "alphazero_quick",
        "alphazero={num_envs: 4, rollout_steps: 4, simulations: 2, minibatch_size: 8, gradient_steps: 1}",
        "network={width: 8, depth: 1, channels: 4}",
    ),
    "td": ("td", "td={games: 2, gradient_steps: 1, minibatch_size: 8}"),
    "solo_td": ("nmbr9_quick", "solo_td={games: 2, gradient_steps: 1, minibatch_size: 8}"),
    "maskable_ppo": (
        "maskable_ppo",
        "maskable_ppo={num_envs: 4, rollout_steps: 4, minibatch_size: 8, epochs: 1, net_arch: [8]}",
        "league={fraction: 0.5, snapshot_every: 1, size: 2}",
    ),
}


# --- policies and values ------------------------------------------------------------------------------------


@cache
def _checkpoints() -> dict[str, tuple[str, str, bytes]]:
    """A small checkpoint of every kind, by name: its game and the contents of its two files."""
    from patchwork_env.agents.compiled import write_weights
    from patchwork_env.agents.networks import NetworkConfig
    from patchwork_env.agents.nmbr9.policy_network import Nmbr9Network
    from patchwork_env.agents.nmbr9.value import new_weights as new_nmbr9_weights
    from patchwork_env.agents.patchwork import mlp
    from patchwork_env.agents.patchwork.policy_network import PatchworkNetwork
    from patchwork_env.agents.patchwork.value import new_weights
    from patchwork_env.agents.policy import write_policy

    sizes, of_nmbr9 = NetworkConfig(8, 1, 4), NetworkConfig(8, 1)
    writers: dict[str, tuple[str, Callable[[Path], None]]] = {
        "network": ("patchwork", lambda folder: write_policy(folder, PatchworkNetwork(sizes))),
        "mlp": ("patchwork", lambda folder: mlp.write_policy(folder, mlp.MlpNetwork(mlp.MlpConfig((6, 4))))),
        "value": ("patchwork", lambda folder: write_weights(folder, "patchwork", new_weights(1))),
        "nmbr9_network": ("nmbr9", lambda folder: write_policy(folder, Nmbr9Network(of_nmbr9))),
        "nmbr9_value": ("nmbr9", lambda folder: write_weights(folder, "nmbr9", new_nmbr9_weights(1))),
    }
    made = {}
    for name, (game, write) in writers.items():
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder))
            description, weights = (
                Path(folder) / file for file in ("checkpoint.json", "weights.safetensors")
            )
            made[name] = game, description.read_text(), weights.read_bytes()
    return made


def policies(name: str, random: Generator) -> int:
    """Checkpoints whose description or weights changed: refused, or an agent that plays legal moves."""
    from safetensors.numpy import load, save

    game, description, weights = _checkpoints()[name]
    other = pick(random, list(_checkpoints().values()))
    for _ in range(BATCH):
        text, data = description, weights
        kind = random.integers(5)
        if kind == 0:
            text = mutate_text(description, random, other[1])
        elif kind == 1:
            text = json.dumps(mutate_tree(json.loads(description), random))
        elif kind == 2:
            data = _with_odd_header(weights, random)
        elif kind == 3:
            data = mutate_bytes(weights, random, other[2])
        else:
            arrays = load(weights)
            array = pick(random, list(arrays.values())).reshape(-1)
            array[random.integers(len(array), size=3)] = pick(random, _ODD_NUMBERS)
            data = save(arrays)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "checkpoint.json").write_text(text, encoding="utf-8", errors="replace")
            (path / "weights.safetensors").write_bytes(data)
            _try_agent(path, game, random)
    return BATCH


def _with_odd_header(weights: bytes, random: Generator) -> bytes:
    """A file of weights whose header, which is JSON behind its length, changed."""
    size = int.from_bytes(weights[:8], "little")
    header = json.dumps(mutate_tree(json.loads(weights[8 : 8 + size]), random)).encode()
    return len(header).to_bytes(8, "little") + header + weights[8 + size :]


def _try_agent(path: Path, game: str, random: Generator) -> None:
    from patchwork_env import agents, games

    try:
        agent = agents.load(path, seed=1)
    except (ValueError, FileNotFoundError) as error:
        _require_short(error)
        return
    position = games.rules_of(agent.games[0]).game(seed=int(random.integers(2**63)))
    for _ in range(_MOVES):
        if position.is_over:
            return
        action = agent.act(position)
        assert action in position.legal_actions(), f"an agent chose {action}, which is not legal"
        position.play(action)


# --- runs ---------------------------------------------------------------------------------------------------


def _config(name: str) -> Any:
    from patchwork_env.learning.config import load_config

    config, *settings = _RUNS[name]
    return load_config(config, [*_TINY, *settings])


@cache
def _run(name: str) -> dict[str, bytes]:
    """The files of a run with checkpoints, an evaluation and metrics, by their paths."""
    from patchwork_env.learning.algorithms.common.trainer import make_trainer
    from patchwork_env.learning.evaluation.matches import play_matches
    from patchwork_env.learning.runs.checkpoints import begin_run, save_checkpoint
    from patchwork_env.learning.runs.evaluations import record
    from patchwork_env.learning.runs.loggers import Log

    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent)
        trainer = make_trainer(_config(name))
        begin_run(folder, trainer, trainer.config)
        log = Log(folder, 0, trainer.config.model_copy(update={"tracker": ()}))
        for _ in range(2):
            log.add(trainer.step(), trainer.steps, trainer.seconds / 60)
            save_checkpoint(folder, trainer)
        result = play_matches(trainer.agent(), "random", 2, game=trainer.config.game, keep=1)
        record(folder, trainer, [result], log)
        log.close()
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(files)}


def runs(name: str, random: Generator) -> int:
    """Folders of runs in which a file changed: refused, or a run that goes on, is shown and measured."""
    for _ in range(BATCH):
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent)
            _write(folder, _run(name))
            _change(folder / pick(random, _run(name)), random)
            _try_run(name, folder)
    return BATCH


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for path, contents in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(contents)


def _change(path: Path, random: Generator) -> None:
    kind = random.integers(8)
    if kind == 0:
        path.unlink()
    elif kind == 1:
        path.rename(path.with_name(pick(random, ("step_zzz", "step_-1", "step_0000000001", "step_", "é"))))
    elif kind == 2 and path.parent.name.startswith("step_"):
        path.parent.rename(path.parent.with_name(pick(random, ("step_zzz", "step_9999999999", "step_1"))))
    elif kind <= 5 and path.suffix in (".json", ".jsonl"):
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        path.write_text("\n".join(json.dumps(mutate_tree(json.loads(line), random)) for line in lines) + "\n")
    elif kind <= 5 and path.suffix == ".safetensors":
        path.write_bytes(_with_odd_numbers(path.read_bytes(), random))
    else:
        path.write_bytes(mutate_bytes(path.read_bytes(), random))


def _with_odd_numbers(data: bytes, random: Generator) -> bytes:
    from safetensors.numpy import load, save

    arrays = load(data)
    array = pick(random, [array for array in arrays.values() if array.size]).reshape(-1)
    places = random.integers(len(array), size=3)
    if array.dtype.kind == "f":
        array[places] = pick(random, _ODD_NUMBERS)
    else:
        array[places] = random.integers(256, size=3)
    return save(arrays)


def _try_run(name: str, folder: Path) -> None:
    from patchwork_env.errors import DivergenceError
    from patchwork_env.learning.algorithms.common.trainer import make_trainer
    from patchwork_env.learning.config import check_memory, load_config
    from patchwork_env.learning.reports.run_results import read_result
    from patchwork_env.learning.runs.checkpoints import load_checkpoint, save_checkpoint
    from patchwork_env.learning.runs.folder import rungs
    from patchwork_env.learning.runs.loggers import Log

    for read in (read_result, partial(rungs, count=2)):
        try:
            read(folder)
        except (ValueError, FileNotFoundError) as error:
            _require_short(error)
    try:
        config = check_memory(load_config(folder / "config.yaml"))
        trainer = make_trainer(_config(name) if _is_large(config) else config)
        load_checkpoint(folder, trainer)
    except (ValueError, FileNotFoundError) as error:
        _require_short(error)
        return
    log = Log(folder, trainer.steps, trainer.config.model_copy(update={"tracker": ()}))
    try:
        log.add(trainer.step(), trainer.steps, trainer.seconds / 60)
        save_checkpoint(folder, trainer)
    except DivergenceError:
        pass
    finally:
        log.close()


def _require_short(error: BaseException) -> None:
    message = str(error)
    if "\n" in message or not 0 < len(message) < _LONGEST:
        raise AssertionError(f"a message of {len(message)} characters: {message[:300]}")


def _is_large(config: Any) -> bool:
    """Whether a run of a configuration would take long, though nothing is wrong with it."""
    return sum(config.least_memory().values()) > 10**7


ATTACKS = {
    **{f"checkpoint_{name}": partial(policies, name) for name in ("network", "mlp", "value")},
    **{f"checkpoint_{name}": partial(policies, name) for name in ("nmbr9_network", "nmbr9_value")},
    **{f"run_{name}": partial(runs, name) for name in _RUNS},
}
SLOW = {f"run_{name}" for name in _RUNS}

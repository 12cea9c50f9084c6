"""Trainings of every algorithm that take seconds, and all that they leave, to compare with another run."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EVERY_RUN = """
checkpoint_every: 1
threads: 1
seed: 5
tracker: csv
evaluation: {every: 2, games: 2, final_games: 2, opponents: [random]}
"""
"""What the configurations of all small runs have in common, as YAML."""
_PPO = """
algorithm: ppo
total_steps: 192
network: {width: 8, depth: 1, channels: 4}
ppo: {num_envs: 4, rollout_steps: 8, minibatch_size: 16, epochs: 1}
league: {fraction: 0.5, snapshot_every: 2, size: 2, opponents: 1}
"""
_TD = """
algorithm: td
total_steps: 600
td: {games: 4, candidate_placements: 4, window: 3, gradient_steps: 2, minibatch_size: 32}
"""
_SOLO_TD = """
game: nmbr9
algorithm: solo_td
total_steps: 320
solo_td: {games: 4, candidate_placements: 4, window: 3, gradient_steps: 2, minibatch_size: 32}
"""
_ALPHAZERO = """
algorithm: alphazero
total_steps: 256
network: {width: 8, depth: 1, channels: 4}
alphazero:
  {num_envs: 8, rollout_steps: 8, simulations: 4, max_considered: 4, window: 2, gradient_steps: 2,
   minibatch_size: 16, evaluation_simulations: 4}
"""
_MASKABLE_PPO = """
algorithm: maskable_ppo
total_steps: 256
maskable_ppo: {num_envs: 4, rollout_steps: 16, minibatch_size: 32, epochs: 1, net_arch: [8]}
league: {fraction: 0.5, snapshot_every: 2, size: 2, opponents: 1}
"""
_NEEDED = {"maskable_ppo": "sb3_contrib"}
_FILES = ("*.safetensors", "checkpoint.json", "trainer.json")


def configurations() -> dict[str, str]:
    """A configuration as YAML for every algorithm whose packages are installed.

    A run of ``rllib_ppo`` that was resumed does not end like one that never stopped, so that it is not among
    them.
    """
    texts = {"ppo": _PPO, "td": _TD, "solo_td": _SOLO_TD, "alphazero": _ALPHAZERO}
    texts["maskable_ppo"] = _MASKABLE_PPO
    return {
        name: text + EVERY_RUN
        for name, text in texts.items()
        if importlib.util.find_spec(_NEEDED.get(name, "json"))
    }


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    """Within the block, what is printed goes to the text that this yields."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield said


def train(*arguments: str) -> None:
    """Trains in this process, quietly.

    Raises:
        AssertionError: The command failed; the message is what it said.
    """
    from patchwork_env.learning.commands import train

    with quiet() as said:
        code = train.main(list(arguments))
    assert code == 0, said.getvalue()


def result_of(run: Path) -> dict[str, Any]:
    """All that a finished run leaves, except what says when it was made and how long it took, by the path."""
    folders = [*(run / "checkpoints").iterdir(), run / "final", run / "best"]
    paths = [path for folder in folders for pattern in _FILES for path in folder.glob(pattern)]
    paths += (run / "evaluations").iterdir()
    found: dict[str, Any] = {str(path.relative_to(run)): contents_of(path) for path in paths}
    lines = (run / "metrics.jsonl").read_text().splitlines()
    found["metrics.jsonl"] = [without_times(json.loads(line)) for line in lines]
    found["left behind"] = [path.name for path in run.rglob("*.partial")]
    return found


def require_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Checks that a run left what another one left; the error names the files that differ."""
    differing = [path for path in sorted(found | expected) if found.get(path) != expected.get(path)]
    assert not differing, f"these are not those of the unharmed run: {', '.join(differing)}"


def contents_of(path: Path) -> Any:
    """What a file holds, without times: the values of JSON, or else a digest."""
    data = path.read_bytes()
    return without_times(json.loads(data)) if path.suffix == ".json" else hashlib.sha256(data).hexdigest()


def without_times(values: Any) -> Any:
    """Values without those that depend on the clock or the machine."""
    if isinstance(values, list):
        return [without_times(value) for value in values]
    if not isinstance(values, dict):
        return values
    return {name: without_times(value) for name, value in values.items() if not _is_time(name)}


def _is_time(name: str) -> bool:
    return name.startswith("time/") or any(word in name for word in ("minutes", "second", "made", "machine"))

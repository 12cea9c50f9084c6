"""Folders in which a file changed: checkpoints, runs, tournaments and results are refused, or used."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from contextlib import ExitStack, suppress
from functools import cache, partial
from pathlib import Path

import numpy as np

from patchwork_env import agents, games
from patchwork_env.errors import DivergenceError
from tests.attack.kills import ALGORITHMS, command, configuration, quiet
from tests.attack.mutations import mutate_bytes, mutate_text, mutate_tree
from tests.attack.sound import pick, refused_or, require_line

BATCH = 5
_MOVES = 12
_ODD_NUMBERS = (0.0, -1.0, 1e-45, 1e30, 3e38, -3e38, np.nan, np.inf, -np.inf)
_ODD_NAMES = ("step_zzz", "step_-1", "step_0000000001", "step_9999999999", "step_1", "step_", "é")
_refused_or = partial(refused_or, errors=(ValueError, FileNotFoundError, ImportError), require=require_line)


def attack(make, use, random):
    """Changes one of the files of a folder, and uses it: both may be refused in one line."""
    files = make()
    for _ in range(BATCH):
        with tempfile.TemporaryDirectory() as name:
            for path, contents in files.items():
                Path(name, path).parent.mkdir(parents=True, exist_ok=True)
                Path(name, path).write_bytes(contents)
            _change(Path(name, pick(random, files)), random, pick(random, files.values()))
            use(Path(name), random)


def _change(path, random, other):
    """Changes the name of a file, values in it, its text or its bytes."""
    kind, data = random.integers(10), path.read_bytes()
    if kind == 0:
        path.unlink()
    elif kind == 1:
        path.rename(path.with_name(pick(random, _ODD_NAMES)))
    elif kind == 2 and path.parent.name.startswith("step_"):
        path.parent.rename(path.parent.with_name(pick(random, _ODD_NAMES)))
    elif kind <= 7 and path.suffix in _WITH_ODD_PARTS:
        path.write_bytes(_WITH_ODD_PARTS[path.suffix](data, random))
    elif kind <= 5 and path.suffix in (".json", ".jsonl"):
        lines = data.decode().splitlines() if path.suffix == ".jsonl" else [data.decode()]
        path.write_text("\n".join(json.dumps(mutate_tree(json.loads(line), random)) for line in lines) + "\n")
    elif kind <= 7 and path.suffix in (".json", ".jsonl", ".yaml"):
        text = mutate_text(data.decode(), random, other.decode(errors="replace"))
        path.write_text(text, encoding="utf-8", errors="replace")
    else:
        path.write_bytes(mutate_bytes(data, random, other))


def _with_odd_weights(weights, random):
    """A file of weights with odd numbers, or whose header, which is JSON behind its length, changed."""
    from safetensors.numpy import load, save

    if random.random() < 0.5:
        size = int.from_bytes(weights[:8], "little")
        header = json.dumps(mutate_tree(json.loads(weights[8 : 8 + size]), random)).encode()
        return len(header).to_bytes(8, "little") + header + weights[8 + size :]
    arrays = load(weights)
    array = pick(random, [array for array in arrays.values() if array.size]).reshape(-1)
    is_real = array.dtype.kind == "f"
    array[random.integers(len(array), size=3)] = (
        pick(random, _ODD_NUMBERS) if is_real else random.integers(256)
    )
    return save(arrays)


def _with_odd_nodes(contents, random):
    """An ONNX model with other metadata, weights, nodes or names."""
    import onnx

    model = onnx.load_from_string(contents)
    kind, node = random.integers(6), pick(random, model.graph.node)
    tensor = pick(random, model.graph.initializer)
    if kind == 0:
        entry = pick(random, model.metadata_props)
        entry.value = mutate_text(entry.value, random).encode("utf-8", "replace").decode()
    elif kind == 1 and tensor.raw_data:
        tensor.raw_data = random.bytes(len(tensor.raw_data))
    elif kind == 2 and tensor.dims:
        tensor.dims[random.integers(len(tensor.dims))] = pick(random, (0, 1, 7, -1, 2**40))
    elif kind == 3:
        node.op_type = pick(random, model.graph.node).op_type
    elif kind == 4:
        model.graph.node.remove(node)
    else:
        value = pick(random, [*model.graph.output, *model.graph.input])
        value.name = pick(random, (value.name + "x", "action", "value", "observation"))
    return bytes(model.SerializeToString())


def _with_odd_members(contents, random):
    """A model of Stable-Baselines3 with other JSON, tensors or pickles, packed as a whole archive."""
    import torch

    members = _unpacked(contents)
    if (kind := random.integers(3)) == 0:
        members["data"] = json.dumps(mutate_tree(json.loads(members["data"]), random)).encode()
    elif kind == 1:
        inner = _unpacked(members["policy.pth"])
        name = next(name for name in inner if name.endswith("data.pkl"))
        members["policy.pth"] = _packed(inner | {name: mutate_bytes(inner[name], random)})
    else:
        tensors = torch.load(io.BytesIO(members["policy.pth"]), weights_only=True)
        odd = (7, "x", None, [], torch.tensor(1.0), torch.zeros(3).to_sparse(), torch.zeros(1).expand(2**40))
        tensors[pick(random, tensors)] = pick(random, (*odd, torch.full((8,), float("nan"))))
        torch.save(tensors, buffer := io.BytesIO())
        members["policy.pth"] = buffer.getvalue()
    return _packed(members)


_WITH_ODD_PARTS = {".safetensors": _with_odd_weights, ".onnx": _with_odd_nodes, ".zip": _with_odd_members}


def _unpacked(contents):
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _packed(members):
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return buffer.getvalue()


def _files_of(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# --- checkpoints --------------------------------------------------------------------------------------------


@cache
def _checkpoint(kind):
    """A small checkpoint of a kind."""
    from patchwork_env.agents.compiled import write_weights
    from patchwork_env.agents.network_config import NetworkConfig
    from patchwork_env.agents.networks import write_policy
    from patchwork_env.agents.nmbr9.policy_network import Nmbr9Network
    from patchwork_env.agents.nmbr9.value import new_weights as new_nmbr9_weights
    from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
    from patchwork_env.agents.patchwork.policy.onnx_export import policy_to_onnx
    from patchwork_env.agents.patchwork.value.network import new_weights

    network = PatchworkNetwork(NetworkConfig(width=8, depth=1, channels=4)).eval()
    write = {
        "network": lambda folder: write_policy(folder, network),
        "value": lambda folder: write_weights(folder, games.PATCHWORK, new_weights(1)),
        "nmbr9_network": lambda folder: write_policy(folder, Nmbr9Network(NetworkConfig(width=8, depth=1))),
        "nmbr9_value": lambda folder: write_weights(folder, games.NMBR9, new_nmbr9_weights(1)),
        "onnx": lambda folder: (folder / "policy.onnx").write_bytes(policy_to_onnx(network)),
        "sb3": lambda folder: _write_model(folder / "model.zip", network),
    }[kind]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return _files_of(Path(folder))


CHECKPOINTS = ("network", "value", "nmbr9_network", "nmbr9_value", "onnx", "sb3")


def _write_model(path, network):
    """What matters of a model of Stable-Baselines3 with a network of the package."""
    import torch

    from patchwork_env.agents import sb3_models

    tensors = {sb3_models.PREFIX + name: tensor for name, tensor in network.state_dict().items()}
    tensors["_extra_state"] = {"game": games.PATCHWORK, "network": network.config.model_dump()}
    bounds = games.rules_of(games.PATCHWORK).layout.upper_bounds
    box = {":type:": "<class 'gymnasium.spaces.box.Box'>", "low": str(0 * bounds), "high": str(bounds)}
    data = {"policy_class": {"__module__": sb3_models._NETWORK_MODULE}, "observation_space": box}
    torch.save(tensors, buffer := io.BytesIO())
    path.write_bytes(_packed({"data": json.dumps(data).encode(), "policy.pth": buffer.getvalue()}))


def _play(folder, random):
    """Lets the agent of a checkpoint play legal moves; one of a single file may say that it cannot."""
    files = [*folder.glob("*.onnx"), *folder.glob("*.zip")]
    agent = _refused_or(agents.load, files[0] if files else folder, seed=1)
    if agent is None:
        return
    game = games.rules_of(agent.games[0]).game(seed=int(random.integers(2**63)))
    for _ in range(_MOVES):
        action = _refused_or(agent.act, game) if files else agent.act(game)
        if action is None:
            return
        assert action in game.legal_actions(), f"an agent chose {action}, which is not legal"
        game.play(action)


# --- runs ---------------------------------------------------------------------------------------------------


@cache
def _run(algorithm):
    """A run with checkpoints, evaluations and metrics."""
    with tempfile.TemporaryDirectory() as name:
        config, run = Path(name, "config.yaml"), Path(name, "run")
        config.write_text(configuration(algorithm))
        command("train", "--config", str(config), "--run-dir", str(run))
        return _files_of(run)


def _is_small(tree):
    """Whether all numbers of games, decisions and weights in a configuration are small."""
    if isinstance(tree, dict):
        return all(_is_small(value) for key, value in tree.items() if key not in ("seed", "total_steps"))
    return not isinstance(tree, int) or tree <= 1000


def _go_on(folder, random):
    """Reads the results of a run, resumes it and trains."""
    from patchwork_env.learning.config import RunConfig, load_config
    from patchwork_env.learning.reports.run_results import read_result
    from patchwork_env.learning.runs.run import resumed_run

    _refused_or(read_result, folder)
    config: RunConfig | None = _refused_or(load_config, folder / "config.yaml")
    if config is None or not _is_small(config.model_dump()):  # it would take long
        return
    with quiet(), ExitStack() as stack, suppress(DivergenceError):
        run = _refused_or(stack.enter_context, resumed_run(folder))
        if run is not None:
            run.log(run.trainer.step())
            run.save_if_due()


# --- tournaments and results --------------------------------------------------------------------------------


@cache
def _tournament():
    """The settings of a small tournament."""
    from patchwork_env.learning.evaluation import Tournament

    with tempfile.TemporaryDirectory() as folder:
        Tournament.enter(["random", "greedy"], 4).play(Path(folder))
        return {"tournament.json": Path(folder, "tournament.json").read_bytes()}


def _resume_tournament(folder, random):
    from patchwork_env.learning.evaluation import Tournament

    _refused_or(Tournament.enter(["random", "greedy"], 4).play, folder)


@cache
def _results():
    """The results of three runs."""
    from patchwork_env.learning.evaluation.records import RunEvaluation
    from patchwork_env.learning.evaluation.results import MatchFigures
    from patchwork_env.learning.reports.run_results import RunResult, write_result

    match = {"games": 10, "seed": 7, "variant": "revised", "sides": {"agent": {"score": 20.0}}}
    match |= {"opponent": "random", "win_rate": 0.5, "score_difference": -1 / 3}
    start = {"steps": 0, "commit": "c" * 40, "patchwork_env": "0.1.0", "machine": "a machine"}
    told = {"name": "ppo", "game": "patchwork", "algorithm": "ppo", "starts": (start,), "weights": "ab" * 32}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(3):
            told |= {"seed": seed, "configuration": {"seed": seed, "ppo": {"epochs": 2}}}
            matches = MatchFigures(**match), MatchFigures(**match | {"opponent": "greedy"})
            told["evaluations"] = tuple(RunEvaluation(k, k + seed, matches) for k in range(3))
            write_result(RunResult(**told), Path(folder))
        return _files_of(Path(folder))


def _compare(folder, random):
    """Compares results and makes tables of them, and now and then figures."""
    from patchwork_env.learning.evaluation.tables import FORMATS
    from patchwork_env.learning.reports import comparison as tables
    from patchwork_env.learning.reports.comparison import compare, write_comparison
    from patchwork_env.learning.reports.run_results import read_result, write_result

    read = _refused_or(lambda: [read_result(path) for path in sorted(folder.iterdir())])
    comparison = read and _refused_or(compare, read)
    if not comparison:
        return
    for form in FORMATS:
        assert "ppo" in tables.as_text(comparison, form)
    written = write_result(read[0], folder / "again")
    assert write_result(read_result(written), folder / "twice").read_bytes() == written.read_bytes()
    if random.random() < 0.025:
        write_comparison(comparison, folder / "out")


ATTACKS = {
    **{f"checkpoint_{kind}": partial(attack, partial(_checkpoint, kind), _play) for kind in CHECKPOINTS},
    **{f"run_{name}": partial(attack, partial(_run, name), _go_on) for name in ALGORITHMS},
    "tournament_files": partial(attack, _tournament, _resume_tournament),
    "result_files": partial(attack, _results, _compare),
}
SLOW = {"checkpoint_onnx", "checkpoint_sb3", *(f"run_{name}" for name in ALGORITHMS)}

"""Models of sb3-contrib's MaskablePPO as agents: files that ``model.save("model.zip")`` writes. Needs torch.

Such a file has tensors, and JSON in which all but plain values are pickled. This module reads only tensors,
with PyTorch's reader of weights, and plain values. It unpickles nothing else and does not need
Stable-Baselines3. It can play ``PatchworkPolicy`` of :mod:`patchwork_env.integrations.sb3` in every game, and
``MlpPolicy`` in Patchwork.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from patchwork_env.agents import networks
from patchwork_env.agents.base import Actions, SamplingAgent, views_of
from patchwork_env.agents.checkpoints import Shapes, not_finite
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.ragged import sample_legal
from patchwork_env.core.documents import parse_json
from patchwork_env.core.kernels import States
from patchwork_env.core.names import short_repr
from patchwork_env.core.sections import read_section
from patchwork_env.games import PATCHWORK, rules_of

WEIGHTS, DATA = "policy.pth", "data"
"""The members of a file with the policy's tensors and with JSON."""
EXTRA_STATE, PREFIX = "_extra_state", "network."
"""The entry of a ``PatchworkPolicy`` with its game and sizes, and the prefix of its tensors."""
_NETWORK_MODULE = "patchwork_env.integrations.sb3.policy"
_MLP_MODULE = "sb3_contrib.common.maskable.policies"
"""The modules of ``PatchworkPolicy`` and of ``MlpPolicy``."""
_HOW_TO_PLAY = (
    "if you trust the file, load it with MaskablePPO.load and take "
    "patchwork_env.integrations.sb3.as_agent(model) instead of its path"
)


def load(path: str | Path, seed: int | None = None, *, sample: bool = False) -> SamplingAgent:
    """Return the agent of a file's policy; see :class:`~patchwork_env.agents.base.SamplingAgent`.

    FileNotFoundError if there is none, ValueError if it is damaged, of another kind, or for other spaces.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no model of Stable-Baselines3 at {short_repr(str(path), 200)}")
    tensors, data = _read(path)
    own = tensors.pop(EXTRA_STATE, None)
    kind = data.get("policy_class")
    module = kind.get("__module__") if isinstance(kind, dict) else kind
    if module != (_MLP_MODULE if own is None else _NETWORK_MODULE):  # a class of the user
        raise ValueError(f"{path}: a policy of {short_repr(module)} is not known here; {_HOW_TO_PLAY}")
    if own is None:
        return MlpAgent(_perceptron(tensors, data, path), path.name, sample=sample, seed=seed)
    if not isinstance(own, dict) or set(own) != {"game", "network"}:
        raise ValueError(f"{path}: {WEIGHTS} has {short_repr(own)}; it must have game and network")
    try:
        network = networks.network_class(own["game"])
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    config = read_section(NetworkConfig, own["network"], "network", str(path))
    shapes = {PREFIX + name: shape for name, shape in networks.weight_shapes(lambda: network(config)).items()}
    weights = _checked(tensors, shapes, path, f"a network of {config!r}")
    named = {name.removeprefix(PREFIX): array for name, array in weights.items()}
    policy = networks.with_weights(lambda: network(config), named)
    return networks.PolicyAgent(policy, path.name, sample=sample, seed=seed)


# --- perceptrons ------------------------------------------------------------------------------------------


_RULES = rules_of(PATCHWORK)
_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "None": nn.Tanh,  # the default of sb3-contrib
    "<class 'torch.nn.modules.activation.ReLU'>": nn.ReLU,
    "<class 'torch.nn.modules.activation.Tanh'>": nn.Tanh,
}
_PARTS = ("mlp_extractor.policy_net.", "action_net.")
"""The prefixes of the names of a policy's tensors; those of its value function are not read."""


class _Perceptron(nn.Module):
    """The policy of an ``MlpPolicy``, with the same names of tensors."""

    def __init__(self, units: Sequence[int], activation: type[nn.Module]) -> None:
        super().__init__()
        sizes = [len(_RULES.layout.upper_bounds), *units]
        pairs = pairwise(sizes)
        layers = [module for pair in pairs for module in (nn.Linear(*pair, **networks.NEW), activation())]
        self.mlp_extractor = nn.ModuleDict({"policy_net": nn.Sequential(*layers)})
        self.action_net = nn.Linear(sizes[-1], _RULES.num_actions, **networks.NEW)

    def forward(self, observations: Tensor) -> Tensor:
        """Return logits of all actions, ``(n, 2026)``, for flat observations, ``(n, 307)``."""
        logits: Tensor = self.action_net(self.mlp_extractor["policy_net"](observations))
        return logits


class MlpAgent(SamplingAgent):
    """Plays the policy of an ``MlpPolicy`` for Patchwork, by default the most probable action."""

    games = (PATCHWORK,)

    def __init__(self, network: nn.Module, name: str, *, sample: bool, seed: int | None) -> None:
        super().__init__(name, sample, seed)
        self.network = network

    def act_batch(self, states: States) -> Actions:
        self.check_states(states)
        observations, masks = map(torch.from_numpy, views_of(states))
        with torch.inference_mode():
            logits = self.network(observations).masked_fill(masks == 0, -torch.inf)
            log_probabilities = logits - logits.logsumexp(
                1, keepdim=True
            )  # rounded and tied like the model's
        if self.sample:
            return sample_legal(states, log_probabilities.numpy(), self._random)
        actions: Actions = log_probabilities.argmax(1).numpy()
        return actions


def _perceptron(tensors: Mapping[str, Any], data: Mapping[str, Any], path: Path) -> _Perceptron:
    """Return the policy of an ``MlpPolicy`` for flat observations of Patchwork."""
    if not _are_flat_observations(space := data.get("observation_space")):
        given = short_repr(space.get(":type:") if isinstance(space, dict) else space)
        raise ValueError(
            f"{path}: the policy sees {given}, not flat observations of Patchwork; {_HOW_TO_PLAY}"
        )
    if data.get("_last_original_obs") is not None:  # set by VecNormalize alone
        raise ValueError(
            f"{path}: the model learned with VecNormalize; agents see observations unchanged. If it changed "
            "only rewards and you trust the file, take as_agent(MaskablePPO.load(path, env)), with its env"
        )
    options, names = data.get("policy_kwargs"), ("activation_fn", "features_extractor_class")
    chosen = [options.get(name) for name in names] if isinstance(options, dict) else [options] * 2
    if str(chosen[0]) not in _ACTIVATIONS or chosen[1] is not None:
        raise ValueError(
            f"{path}: the activation is {short_repr(chosen[0])} and the features extractor "
            f"{short_repr(chosen[1])}; allowed are ReLU or Tanh, and None; {_HOW_TO_PLAY}"
        )
    biases = [tensors.get(f"{_PARTS[0]}{2 * k}.bias") for k in range(len(tensors))]
    units = [len(bias) for bias in biases if isinstance(bias, Tensor) and bias.dim() == 1]
    policy = {name: tensor for name, tensor in tensors.items() if str(name).startswith(_PARTS)}

    def make() -> _Perceptron:
        return _Perceptron(units, _ACTIVATIONS[str(chosen[0])])

    what = f"an MlpPolicy of Patchwork with {units} units"
    return networks.with_weights(make, _checked(policy, networks.weight_shapes(make), path, what))


def _are_flat_observations(space: Any) -> bool:
    """Whether a space in JSON is that of flat observations of Patchwork; a wrapper's has other bounds."""
    bounds = _RULES.layout.upper_bounds
    try:
        low, high = (np.array(str(space[end]).strip("[]").split(), np.float32) for end in ("low", "high"))
        return bool(np.allclose(low, 0 * bounds) and np.allclose(high, bounds))
    except (TypeError, KeyError, ValueError):  # another space, other values, or another number of them
        return False


# --- reading ----------------------------------------------------------------------------------------------


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    contents = _members(path, path.read_bytes())
    missing = [name for name in (WEIGHTS, DATA) if name not in contents]
    if missing:
        raise ValueError(f"{path} is not a model of Stable-Baselines3: it has no {' and no '.join(missing)}")
    weights, text = contents[WEIGHTS], contents[DATA]
    try:
        tensors = torch.load(io.BytesIO(weights), map_location="cpu", weights_only=True)
    except Exception:  # PyTorch raises errors of many kinds for damaged files
        raise ValueError(f"{path}: {WEIGHTS} has more than tensors, or is damaged") from None
    data = parse_json(text.decode(errors="replace"), f"{path}: {DATA}", finite=False)
    if not isinstance(tensors, dict) or not isinstance(data, dict):
        raise ValueError(f"{path}: {WEIGHTS} or {DATA} is not a dictionary")
    return dict(tensors), data


def _members(path: Path, contents: bytes) -> dict[str, bytes]:
    """Return the members of an archive by name; they must not be compressed, which limits their size."""
    try:
        with zipfile.ZipFile(io.BytesIO(contents)) as archive:
            compressed = [
                info.filename
                for info in archive.infolist()
                if info.compress_type != zipfile.ZIP_STORED or info.file_size > len(contents)
            ]
            members = {} if compressed else {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # zipfile raises errors of many kinds for damaged archives
        raise ValueError(f"{path} is not a model of Stable-Baselines3, or is damaged") from None
    if compressed:
        raise ValueError(
            f"{path}: {short_repr(compressed[0])} is compressed, unlike in models that were saved"
        )
    return members


def _checked(
    tensors: Mapping[str, Any], shapes: Shapes, path: Path, what: str
) -> dict[str, npt.NDArray[np.float32]]:
    """Return the tensors, which must have these shapes, be float32, and finite."""
    wrong = sorted(map(str, tensors.keys() ^ shapes.keys()))
    wrong += [name for name in shapes if name in tensors and not _fits(tensors[name], shapes[name])]
    if wrong:
        reason = f"{short_repr(wrong[0])} does not fit; {_HOW_TO_PLAY}"
        raise ValueError(f"{path} does not hold the weights of {what}: {reason}")
    arrays = {name: tensors[name].numpy() for name in shapes}
    if damaged := not_finite(arrays):
        raise ValueError(f"{path}: {damaged[0]} has values that are not finite")
    return arrays


def _fits(tensor: Any, shape: tuple[int, ...]) -> bool:
    if not isinstance(tensor, Tensor) or tensor.layout != torch.strided or tensor.device.type != "cpu":
        return False
    return tensor.dtype == torch.float32 and tuple(tensor.shape) == shape

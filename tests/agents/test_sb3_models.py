"""Models of MaskablePPO as agents: what a file's model plays, and that nothing in a file is executed."""

import io
import json
import pickle
import zipfile
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecNormalize

from patchwork_env import agents
from patchwork_env.agents.base import views_of
from patchwork_env.agents.networks import PolicyAgent
from patchwork_env.agents.sb3_models import MlpAgent
from patchwork_env.core.batches import begin_games
from patchwork_env.core.checks import seed_streams
from patchwork_env.games import rules_of
from patchwork_env.integrations.sb3.policy import PatchworkPolicy
from patchwork_env.integrations.sb3.vec_env import SelfPlayVecEnv
from patchwork_env.testing import check_agent

SIZES, UNITS = {"width": 16, "depth": 1, "channels": 4}, {"pi": [24, 8], "vf": [9]}


def save_model(path, policy=PatchworkPolicy, game="patchwork", **policy_kwargs):
    env = SelfPlayVecEnv(2, game=game, seed=1)
    options = {"device": "cpu", "policy_kwargs": policy_kwargs or None}
    model = MaskablePPO(policy, env, n_steps=8, batch_size=8, seed=3, **options)
    model.save(path)
    return model


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.zip"
    save_model(path, network=SIZES)
    return path


def change(source, target, weights=None, data=None, compression=zipfile.ZIP_STORED, leave_out=()):
    """Write a copy of a model with changed tensors, JSON or members; return its path."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name not in leave_out}
    if weights is not None:
        tensors = torch.load(io.BytesIO(members["policy.pth"]), weights_only=True)
        weights(tensors)
        buffer = io.BytesIO()
        torch.save(tensors, buffer)
        members["policy.pth"] = buffer.getvalue()
    if data is not None:
        contents = json.loads(members["data"])
        members["data"] = json.dumps(data(contents) or contents).encode()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, contents in members.items():
            archive.writestr(name, contents)
    return target


@pytest.mark.parametrize(
    ("policy", "game", "kwargs", "kind"),
    [
        (PatchworkPolicy, "patchwork", {"network": SIZES}, PolicyAgent),
        (PatchworkPolicy, "nmbr9", {"network": {"width": 16, "depth": 1}}, PolicyAgent),
        ("MlpPolicy", "patchwork", {"net_arch": UNITS, "activation_fn": torch.nn.ReLU}, MlpAgent),
        ("MlpPolicy", "patchwork", {}, MlpAgent),
    ],
)
def test_it_plays_what_the_model_plays(tmp_path, policy, game, kwargs, kind):
    model = save_model(tmp_path / "model.zip", policy, game, **kwargs)
    with torch.device("meta"):  # as a default of the user
        agent = agents.load(tmp_path / "model.zip")
    assert type(agent) is kind
    assert agent.games == (game,)
    rules = rules_of(game)
    states = begin_games(rules, seed_streams(1, 8))
    for _ in range(6):
        games = [rules.game.unchecked(states, i) for i in range(len(states))]
        observations = np.array([game.observation() for game in games])
        masks = np.array([game.action_mask() for game in games])
        expected, _ = model.predict(observations, action_masks=masks, deterministic=True)
        assert (agent.act_batch(states) == expected).all()
        for one, action in zip(games, expected, strict=True):
            one.play(int(action))
        states = np.concatenate([game.state for game in games])
    drawing, same = (agents.load(f"{tmp_path / 'model.zip'}:sample=true", seed=3) for _ in range(2))
    drawn = drawing.act_batch(states)
    assert drawn.tolist() == same.act_batch(states).tolist()
    assert (drawn != views_of(states)[1].argmax(1)).any()
    check_agent(drawing, games=1)


def test_nothing_is_executed(saved, tmp_path):
    mark, trapped = tmp_path / "mark", tmp_path / "trapped.zip"
    trap = type("Trap", (), {"__reduce__": lambda self: (Path.touch, (mark,))})()  # if it is unpickled

    def set_traps(contents):
        for entry in contents.values():
            if isinstance(entry, dict) and ":serialized:" in entry:
                entry[":serialized:"] = pickle.dumps(trap).hex()
        contents["limit"] = float("inf")

    agents.load(change(saved, trapped, data=set_traps))  # plays: nothing of it is read
    change(saved, trapped, weights=lambda tensors: tensors.update(more=trap))
    with pytest.raises(ValueError, match=r"policy\.pth has more than tensors"):
        agents.load(trapped)
    assert not mark.exists()


def test_weights_that_do_not_fit(saved, tmp_path):
    def telling(**changes):
        return lambda tensors: tensors["_extra_state"].update(changes)

    for changed, message in (
        (lambda t: t.update({"network.value.bias": torch.zeros(2)}), "network.value.bias' does not fit"),
        (lambda t: t.update({"network.value.bias": 7}), "network.value.bias' does not fit"),
        (lambda t: t.pop("network.value.bias"), "network.value.bias' does not fit"),
        (lambda t: t["network.value.bias"].fill_(torch.nan), "values that are not finite"),
        (telling(game="chess"), "there is no game 'chess'"),
        (telling(game="nmbr9"), "the network of nmbr9 has no channels"),
        (telling(network={}), "it must give width, depth, channels"),
        (lambda t: t["_extra_state"]["network"].update(width=10**9), "network.width is 1000000000"),
        (lambda t: t.update(_extra_state=7), "has 7; it must have game and network"),
    ):
        with pytest.raises(ValueError, match=message):
            agents.load(change(saved, tmp_path / "changed.zip", weights=changed))


def test_files_of_another_kind(saved, tmp_path):
    path = tmp_path / "model.zip"
    with pytest.raises(FileNotFoundError, match="no model of Stable-Baselines3"):
        agents.load(path)
    path.write_bytes(b"PK")
    with pytest.raises(ValueError, match="is not a model of Stable-Baselines3, or is damaged"):
        agents.load(path)
    with pytest.raises(ValueError, match="is not a dictionary"):
        agents.load(change(saved, path, data=lambda contents: [contents]))
    with pytest.raises(ValueError, match=r"it has no policy\.pth"):
        agents.load(change(saved, path, leave_out=["policy.pth"]))
    damaged = change(saved, path, data=lambda contents: contents.update(seed=12345))
    damaged.write_bytes(damaged.read_bytes().replace(b'"seed": 12345', b'"seed": 12x45'))
    with pytest.raises(ValueError, match="is not a model of Stable-Baselines3, or is damaged"):
        agents.load(damaged)  # the checksum of the archive is wrong
    with pytest.raises(ValueError, match="is compressed, unlike in models that were saved"):
        agents.load(change(saved, path, compression=zipfile.ZIP_DEFLATED))


def test_perceptrons_of_another_kind(tmp_path):
    path = tmp_path / "model.zip"
    save_model(path, "MlpPolicy", net_arch=[8], activation_fn=torch.nn.GELU)
    message = r"GELU'>\" and .*; allowed are ReLU or Tanh, and None; .*with MaskablePPO.load"
    with pytest.raises(ValueError, match=message):
        agents.load(path)
    save_model(path, "MlpPolicy", net_arch=[8])
    wrong = change(path, tmp_path / "wrong.zip", data=lambda contents: contents | {"policy_kwargs": 7})
    with pytest.raises(ValueError, match="the activation is 7 and the features extractor 7; allowed"):
        agents.load(wrong)
    wrong = change(path, tmp_path / "wrong.zip", weights=lambda t: t.pop("action_net.bias"))
    message = r"an MlpPolicy of Patchwork with \[8\] units: 'action_net.bias' does"
    with pytest.raises(ValueError, match=message):
        agents.load(wrong)


def test_policies_that_see_other_observations(tmp_path):
    """Their weights have the right shapes, but expect inputs in another order or of another size."""
    path = tmp_path / "model.zip"
    named, flat = (gymnasium.make("patchwork_env:Patchwork-v0", observation=o) for o in ("dict", "flat"))
    for policy, env in (
        ("MultiInputPolicy", named),
        ("MlpPolicy", gymnasium.wrappers.FlattenObservation(named)),
        ("MlpPolicy", gymnasium.wrappers.NormalizeObservation(flat)),
    ):
        MaskablePPO(policy, env, device="cpu", policy_kwargs={"net_arch": [8]}).save(path)
        with pytest.raises(ValueError, match=r"the policy sees \"<class '\S+'>\", not flat observations of"):
            agents.load(path)


def test_models_with_statistics_that_the_file_lacks(tmp_path):
    env, sizes = VecNormalize(SelfPlayVecEnv(2)), {"net_arch": [8]}
    model = MaskablePPO("MlpPolicy", env, n_steps=4, policy_kwargs=sizes)
    model.learn(0).save(tmp_path / "model.zip")
    with pytest.raises(ValueError, match="learned with VecNormalize"):
        agents.load(tmp_path / "model.zip")
    rewards = VecNormalize(SelfPlayVecEnv(2), norm_obs=False)
    model = MaskablePPO(PatchworkPolicy, rewards, n_steps=4, policy_kwargs={"network": SIZES})
    model.learn(0).save(tmp_path / "model.zip")
    assert type(agents.load(tmp_path / "model.zip")) is PolicyAgent


@pytest.mark.parametrize("policy", ["MlpPolicy", PatchworkPolicy])
def test_policies_of_the_user_are_refused(tmp_path, policy):
    sizes = {"net_arch": [8]} if policy == "MlpPolicy" else {"network": SIZES}
    path, own = tmp_path / "model.zip", tmp_path / "own.zip"
    save_model(path, policy, **sizes)
    change(path, own, data=lambda contents: contents["policy_class"].update(__module__="__main__"))
    with pytest.raises(ValueError, match="a policy of '__main__' is not known here; if you trust the file"):
        agents.load(own)

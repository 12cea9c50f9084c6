"""Datasets of Minari: their content against the engines, and no files after failures."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("minari")

import minari

from patchwork_env import cli, nmbr9, patchwork
from patchwork_env.errors import IllegalActionError, UnknownOptionError
from patchwork_env.integrations.minari import MaskedObservation, record
from patchwork_env.learning.evaluation.playing import BLOCK_SIZE

pytestmark = pytest.mark.libraries

DATASETS = {
    "patchwork/mixed-v0": {"agents": ["greedy", "random"], "games": 4},
    "patchwork/of-2014-v3": {"agents": "random", "games": 2, "rewards": "margin", "special_patches": "2014"},
    "nmbr9/alone-v0": {"agents": ["random"], "games": 2, "game": "nmbr9"},
    "nmbr9/four-v0": {"agents": ["random", "greedy"], "games": 2, "game": "nmbr9", "players": 4},
    "nmbr9/points-v0": {"agents": "random", "games": 1, "game": "nmbr9", "players": 3, "rewards": "score"},
}
KINDS = {"patchwork": patchwork.Game, "nmbr9": nmbr9.Game}


@pytest.fixture(scope="module", autouse=True)
def root(tmp_path_factory):
    """The root folder of Minari in these tests."""
    folder = tmp_path_factory.mktemp("minari")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(folder))
        yield folder


def files(folder):
    """The bytes of all files in a folder, by relative path."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def about(dataset):
    """This package's metadata of a dataset."""
    return json.loads((dataset.storage.data_path / "metadata.json").read_text())["patchwork_env"]


@pytest.fixture(scope="module", params=DATASETS)
def dataset(request, root):
    """A dataset, recorded and loaded by its id."""
    record(dataset_id=request.param, **DATASETS[request.param])
    return minari.load_dataset(request.param)


def metadata_of(dataset, i):
    return next(iter(dataset.storage.get_episode_metadata([i])))


def replayed(dataset, i):
    """The games before every action of an episode's game and at its end."""
    kind = KINDS[dataset.id.partition("/")[0]]
    end = kind.from_notation(metadata_of(dataset, i)["notation"])
    game = end.root()
    games = [game.clone()]
    for action in end.history:
        game.play(action)
        games.append(game.clone())
    return games


def test_episodes_are_games_of_the_engine(dataset):
    said = about(dataset)
    players = dataset.total_episodes // said["games"]
    options = {name: value for name, value in said["options"].items() if value is not None}
    if said["game"] == "patchwork":
        del options["first_player"]
    for i, episode in enumerate(dataset.iterate_episodes()):
        metadata, games = metadata_of(dataset, i), replayed(dataset, i)
        seat, plies, end = metadata["seat"], episode.infos["ply"], games[-1]
        assert (metadata["game"], seat) == divmod(i, players)
        assert games[0] == KINDS[said["game"]](seed=metadata["seed"], **options)
        assert metadata["agents"].tolist() == [
            said["agents"][(metadata["game"] + player) % len(said["agents"])] for player in range(players)
        ]
        assert metadata["agent"] == metadata["agents"][seat]
        decides = [ply for ply, game in enumerate(games[:-1]) if game.current_player == seat]
        assert plies.tolist() == [*decides, len(games) - 1]
        for t, ply in enumerate(plies):
            expected = games[ply].observation(seat)
            assert np.array_equal(episode.observations["observation"][t], expected)
            mask = games[ply].action_mask()
            assert np.array_equal(episode.observations["action_mask"][t], mask)
        assert episode.actions.tolist() == [end.history[ply] for ply in plies[:-1]]
        assert episode.terminations.tolist() == [False] * len(decides[1:]) + [True]
        assert not episode.truncations.any()
        assert metadata["scores"].tolist() == list(end.scores())
        assert tuple(metadata["winners"]) == end.winners()
        assert episode.rewards[-1] == pytest.approx(worth(end, seat, said["rewards"], episode))
        assert said["rewards"] == "score" or not episode.rewards[:-1].any()


def worth(end, seat, kind, episode):
    """The last reward of an episode."""
    scores = list(end.scores())
    own = scores.pop(seat)
    if kind == "score":
        return own - episode.rewards[:-1].sum()
    if kind == "margin":
        return (own - max(scores)) / 100
    share = (seat in end.winners()) / len(end.winners())
    return (end.num_players * share - 1) / len(scores)


def test_the_environment_replays_an_episode(root):
    """The same seed, opponent and actions give the same observations and rewards."""
    dataset = record("greedy", 4, "patchwork/greedy-v0")
    env = dataset.recover_environment(opponent="greedy")
    assert isinstance(env, MaskedObservation)
    assert (env.observation_space, env.action_space) == (dataset.observation_space, dataset.action_space)
    replayed_episodes = 0
    for i, episode in enumerate(dataset.iterate_episodes()):
        metadata = metadata_of(dataset, i)
        observation, info = env.reset(seed=metadata["seed"])
        if info["seat"] != metadata["seat"]:
            continue
        replayed_episodes += 1
        for t, action in enumerate(episode.actions):
            for name, array in observation.items():
                assert np.array_equal(episode.observations[name][t], array)
            observation, reward, terminated, _, _ = env.step(action)
            assert (reward, terminated) == (episode.rewards[t], episode.terminations[t])
        for name, array in observation.items():
            assert np.array_equal(episode.observations[name][-1], array)
    assert replayed_episodes == 4


def test_equal_arguments_give_equal_files_with_any_number_of_workers(tmp_path):
    first, second, other = (tmp_path / name for name in ("first", "second", "other"))
    games = BLOCK_SIZE + 2
    record("random", games, "patchwork/twice-v0", root=first)
    record("random", games, "patchwork/twice-v0", root=second, workers=2)
    record("random", games, "patchwork/twice-v0", root=other, seed=1)
    assert files(first) == files(second)
    assert {path for path, data in files(other).items() if data != files(first)[path]} == {
        f"patchwork/twice-v0/data/{name}" for name in ("main_data.hdf5", "metadata.json")
    }


def test_metadata_say_who_played_what(root):
    dataset = record(["ppo-quick", lambda game: int(game.legal_actions()[0])], 2, "patchwork/who-v7")
    metadata, said = dataset.storage.metadata, about(dataset)
    assert metadata["total_episodes"] == 4
    assert metadata["total_steps"] == sum(map(len, dataset.iterate_episodes()))
    assert metadata["algorithm_name"] == "ppo-quick against <lambda>"
    assert said["agents"] == ["ppo-quick", "<lambda>"]
    assert len(said["weights"]["ppo-quick"]) == 64
    assert said["options"] == {"special_patches": "revised", "first_player": 0}
    assert (said["game"], said["games"], said["seed"]) == ("patchwork", 2, 0)
    assert "patchwork/who-v7" in minari.list_local_datasets()
    assert "opponent" not in dataset.env_spec.kwargs


def test_recordings_of_different_agents_are_combined(root):
    recorded = [record(agents, 1, f"{agents[0]}-v0") for agents in (["random", "greedy"], ["greedy"])]
    combined = minari.combine_datasets(recorded, "combined-v0")
    assert combined.total_episodes == 4
    env = combined.recover_environment(opponent="greedy")
    assert combined.observation_space.contains(env.reset(seed=7)[0])


@pytest.mark.parametrize("options", [{}, {"game": "nmbr9", "players": 2}], ids=str)
def test_torchrl_reads_recordings(options, root, tmp_path, monkeypatch):
    datasets, tensordict = map(pytest.importorskip, ("torchrl.data.datasets", "tensordict"))
    # TorchRL 0.14 drops all data here, for any dataset.
    monkeypatch.setattr(tensordict.TensorDict, "memmap_like", tensordict.TensorDict.memmap)
    name = f"read/{options.get('game', 'patchwork')}-v0"
    recorded = record("random", 1, name, **options)
    replay = datasets.MinariExperienceReplay(name, batch_size=8, root=tmp_path, load_from_local_minari=True)
    assert len(replay) == recorded.total_steps
    for i, episode in enumerate(recorded.iterate_episodes()):
        steps = replay[:][replay[:]["episode"] == i]
        for key, array in episode.observations.items():
            assert np.array_equal(steps["observation", key], array[:-1])
            assert np.array_equal(steps["next", "observation", key], array[1:])
        assert np.array_equal(steps["action"], episode.actions)
        assert np.array_equal(steps["next", "reward"][:, 0], episode.rewards)


def test_ids_that_minari_could_not_find_are_refused(root):
    before = files(root)
    texts = ["", "name", "a/b/", "../name-v0", "/name-v0", "data/name-v0", "aa//name-v0", "n" * 300 + "-v0"]
    for wrong in (*texts, None, 7):
        with pytest.raises(ValueError, match="the id of a dataset is"):
            record("random", 1, wrong)
    assert files(root) == before


def test_a_dataset_is_never_replaced(root):
    record("random", 1, "patchwork/kept-v0")
    before = files(root)
    with pytest.raises(FileExistsError, match="take another id or version"):
        record("random", 2, "patchwork/kept-v0")
    assert files(root) == before


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"agents": []}, ValueError, "there are no agents"),
        ({"agents": ["greddy"]}, ValueError, "did you mean 'greedy'"),
        ({"agents": ["champion", "nmbr9_champion"]}, ValueError, "cannot meet"),
        ({"rewards": "outcome", "game": "nmbr9"}, ValueError, "needs 2 players"),
        ({"special_patch": "2014"}, UnknownOptionError, "did you mean 'special_patches'"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_played(arguments, error, message, tmp_path):
    given = {"agents": "random", "games": 1, "dataset_id": "name-v0", "root": tmp_path / "none", **arguments}
    with pytest.raises(error, match=message):
        record(**given)
    assert not [*filter(Path.is_file, tmp_path.rglob("*"))]


def test_failures_and_interrupts_leave_nothing(tmp_path):
    def fails_later(game):
        return -1 if max(game.positions) > 26 else int(game.legal_actions()[0])

    def stop(games):
        raise KeyboardInterrupt

    message = r"agent 'fails_later' chose action -1, not legal in .*: action -1 does not exist"
    with pytest.raises(IllegalActionError, match=message):
        record(fails_later, 2, "some/name-v0", root=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        record("random", 3, "some/deep/name-v0", root=tmp_path, progress=stop)
    assert not [*filter(Path.is_file, tmp_path.rglob("*"))]


def test_the_command_records_what_the_function_does(tmp_path, monkeypatch, capsys):
    agents = ["greedy", "random"]
    record(agents, 4, "aa/same-v0", root=tmp_path / "function", seed=5, rewards="margin")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "command"))
    words = ["--games", "4", "--id", "aa/same-v0", "--seed", "5", "--rewards", "margin"]
    assert cli.main(["dataset", *agents, *words]) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("aa/same-v0: 8 episodes with ")
    assert last.endswith(f" MB in {tmp_path / 'command' / 'aa' / 'same-v0' / 'data'}")
    assert files(tmp_path / "function") == files(tmp_path / "command")


def test_folders_may_be_relative_and_are_the_users_if_none_is_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert record("random", 1, "name-v0", root="here").storage.data_path == tmp_path / "here/name-v0/data"
    monkeypatch.setenv("MINARI_DATASETS_PATH", "there")
    record("random", 1, "name-v0")
    monkeypatch.delenv("MINARI_DATASETS_PATH")
    monkeypatch.setenv("HOME", str(tmp_path))
    record("random", 1, "name-v0")
    for folder in ("there", ".minari/datasets"):
        assert (tmp_path / folder / "name-v0/data/metadata.json").exists()


def test_a_stopped_command_leaves_nothing(tmp_path):
    command = [sys.executable, "-m", "patchwork_env.cli", "dataset", "random", "--games", "100000"]
    command += ["--id", "some/name-v0"]
    variables = {**os.environ, "MINARI_DATASETS_PATH": str(tmp_path)}
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.rglob("main_data.hdf5")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert printed == "stopped by SIGTERM: there is no dataset some/name-v0\n"
    assert not [*filter(Path.is_file, tmp_path.rglob("*"))]

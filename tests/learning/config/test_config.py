"""Configurations: what they are composed of, and answers to mistakes in them."""

import json

import pytest
import yaml

from patchwork_env.errors import ConfigError
from patchwork_env.learning.algorithms.ppo.config import PpoConfig
from patchwork_env.learning.config import CONFIGS, algorithms, dump_config, list_configs, load_config
from patchwork_env.learning.config.keys import Reward, Schedule
from patchwork_env.learning.config.loading import flattened


@pytest.fixture
def load(tmp_path):
    """Loads a configuration from its text."""

    def from_text(text, *overrides):
        path = tmp_path / "run.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_config(path, list(overrides))

    return from_text


@pytest.fixture
def message(load):
    """The message of a configuration that is in error."""

    def from_text(text, *overrides):
        with pytest.raises(ConfigError) as caught:
            load(text, *overrides)
        return str(caught.value)

    return from_text


DEFAULT = PpoConfig()
RATE = DEFAULT.ppo.learning_rate


@pytest.mark.parametrize(
    ("text", "overrides", "key", "value"),
    [
        ("seed: 7", [], "seed", 7),
        ("ppo: {epochs: 3}", [], "ppo.epochs", 3),
        ("ppo: {epochs: 3}", [], "ppo.num_envs", DEFAULT.ppo.num_envs),
        ("evaluation: {opponents: [random]}", [], "evaluation.opponents", ("random",)),
        ("ppo: {epochs: 3}", ["ppo.epochs=4"], "ppo.epochs", 4),
        ("seed: 7", ["seed=1", "seed=2"], "seed", 2),
        ("", ["evaluation.opponents=[random, greedy]"], "evaluation.opponents", ("random", "greedy")),
        ("", ["description=two = 2?"], "description", "two = 2?"),
        ("", ["ppo={epochs: 9}"], "ppo.epochs", 9),
        ("ppo: {learning_rate: {start: 0.5}}", [], "ppo.learning_rate", Schedule(start=0.5, end=RATE.end)),
        ("", ["ppo.learning_rate.end=0.0"], "ppo.learning_rate", Schedule(start=RATE.start, end=0)),
        ("", ["reward.outcome=0", "reward.margin=1"], "reward.margin", 1),
        ("algorithm: solo_td", [], "game", "nmbr9"),
        ("", [], "tracker", ("tensorboard",)),
        ("", ["tracker=wandb"], "tracker", ("wandb",)),
        ("", ["tracker=[tensorboard, wandb]"], "tracker", ("tensorboard", "wandb")),
        *((f"tracker: {none}", [], "tracker", ()) for none in ("none", "", "[]")),
    ],
)
def test_values_are_those_of_the_file_and_of_overrides(load, text, overrides, key, value):
    assert at(load(text, *overrides), key) == value


def at(config, key):
    for name in key.split("."):
        config = getattr(config, name)
    return config


@pytest.mark.parametrize(
    ("key", "value", "texts"),
    [
        ("ppo.clip_range", 1e-3, ["1e-3", "1.0e-3", "1E-3", "+1e-3", "0.001", ".001", "10.e-4"]),
        ("total_steps", 20_000, ["2e4", "2.0E+4", "20000.0", "20_000", ".2e5"]),
        ("special_patches", "2014", ["2014", "'2014'", '"2014"']),
        ("ppo.learning_rate", Schedule(start=3e-4, end=3e-4), ["3e-4", "{start: 3e-4, end: 3e-4}"]),
        ("td.learning_rate", Schedule(start=0, end=0), ["0"]),  # the default is geometric, which 0 is not
    ],
)
def test_numbers_are_taken_in_every_form(load, key, value, texts):
    section, _, name = key.rpartition(".")
    algorithm = f"algorithm: {section or 'ppo'}\n"
    for text in texts:
        for config in (
            load(algorithm + (f"{section}: {{{name}: {text}}}" if section else f"{name}: {text}")),
            load(algorithm, f"{key}={text}"),
        ):
            assert at(config, key) == value
            assert type(at(config, key)) is type(value)


def test_empty_file_is_the_default(load):
    assert load("") == load("# nothing\n") == load("{}") == DEFAULT


def test_descriptions_speak_of_the_file_as_it_stands(load):
    text = "description: beats greedy"
    assert load(text, "seed=3", "evaluation.games=10").description == "beats greedy"
    assert load(text, "total_steps=100", "seed=3").description == ""
    assert load(text, "ppo.epochs=3", "description=a trial").description == "a trial"


def test_dump_gives_the_same_configuration(load):
    config = load(
        "description: 'a: b'\nspecial_patches: 2014\nevaluation: {opponents: [greedy]}",
        "ppo.learning_rate.start=1e-5",
        "seed=18446744073709551615",
    )
    assert load(dump_config(config)) == config
    assert list(yaml.safe_load(dump_config(config))) == list(PpoConfig.model_fields)
    assert flattened({"a": 1, "b": {"c": {"d": 2}, "e": 3}}) == {"a": 1, "b.c.d": 2, "b.e": 3}
    assert "special_patches" not in dump_config(load("algorithm: solo_td"))


def test_all_mistakes_with_their_sources(message):
    answer = message("sed: 1\nppo: {epochs: many, clip_range: 0.1}", "ppo.clip_range=0", "network.width=-1")
    assert "run.yaml: unknown key 'sed'" in answer
    assert "run.yaml: ppo.epochs is 'many'" in answer
    assert "--set ppo.clip_range=0: ppo.clip_range is 0: Input should be greater than 0" in answer
    assert "--set network.width=-1: network.width is -1" in answer
    for override, expected in (
        ("seed", "--set seed: must have the form key=value"),
        ("seed.x=3", "--set seed.x=3: 'seed' is not a section"),
        ("network.width=[1", "--set network.width=[1: '[1' is not valid YAML"),
        ("ppo..epochs=3", "unknown key 'ppo.'"),
    ):
        assert expected in message("seed: 1", override)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ppo: {learning_rat: 1}", "unknown key 'ppo.learning_rat'; did you mean 'ppo.learning_rate'?"),
        (
            "ppo: {entropy_coefficient: {strt: 1}}",
            "unknown key 'ppo.entropy_coefficient.strt'; did you mean 'ppo.entropy_coefficient.start'?",
        ),
        ("halflife: 1", "unknown key 'halflife'; did you mean 'league.half_life'?"),
        ("network: {xyz: 1}", "unknown key 'network.xyz'; known are width, depth, channels"),
        ("xyz: 1", "unknown key 'xyz'; known are description, game,"),
        (
            "ppo: {gama: 1}",
            "unknown key 'ppo.gama'; did you mean 'ppo.gamma'?",
        ),  # not that of another algorithm
        ("candidate_placement: 1", "unknown key 'candidate_placement'; known are description, game,"),
        ("seed: true", "seed is True: Input should be a valid integer"),
        ("ppo: {clip_range: .nan}", "ppo.clip_range is nan: Input should be a finite number"),
        ("ppo: {learning_rate: {start: .inf}}", "ppo.learning_rate.start is inf"),
        ("total_steps: 1.5e0", "total_steps is 1.5: Input should be a valid integer"),
        ("algorithm: td\ntd: {learning_rate: {start: 0}}", ": td.learning_rate: a geometric curve from 0.0 "),
        ("algorithm: td\ntd: {learning_rate: {end: 0}}", ": td.learning_rate: a geometric curve from "),
        ("seed: {a: 1}", "seed is {'a': 1}: Input should be a valid integer"),
        ("ppo: {learning_rate: fast}", "ppo.learning_rate is 'fast': it must be a number, or a section"),
        ("ppo: 3", "ppo is 3: it must be a section"),
        ("ppo:", "ppo is None: it must be a section"),
        (f"description: {'x' * 9999}", "String should have at most 1000 characters"),
        ("game: chess", "game is 'chess'; ppo learns patchwork"),
        ("algorithm: dqn", "algorithm is 'dqn'; allowed are 'alphazero', 'maskable_ppo', 'ppo',"),
        ("algorithm: ppi", "algorithm is 'ppi'; did you mean 'ppo'?"),
        ("special_patches: 2015", "special_patches is 2015: Input should be 'revised' or '2014'"),
        ("evaluation: {games: 3}", "evaluation.games is 3: Input should be a multiple of 2"),
        ("evaluation: {opponents: random}", "evaluation.opponents is 'random': it must be a list"),
        ("3: 4", "the key 3 must be a string"),
        ("reward: {outcome: 0, margin: 0}", "reward.outcome and reward.margin are both 0"),
        ("game: nmbr9\nalgorithm: td", "algorithm is 'td'; algorithms for the game nmbr9: "),
        ("algorithm: solo_td\ngame: patchwork", "algorithms for the game patchwork: "),
        ("algorithm: solo_td\nspecial_patches: 2014", "special_patches is '2014'; nmbr9 has none"),
        ("game: nmbr9\nnetwork: {channels: 4}\nppo: {points: 1}", "4; the network of nmbr9 has no channels"),
        ("algorithm: td\ndevice: cuda", "device is 'cuda': Input should be 'cpu'"),
        ("- 1", "holds a list; a configuration is a mapping of keys to values"),
        ("ppo: [1\nseed: 5", "is not valid YAML: line 2, column 5: expected ',' or ']', but got ':'"),
        ("seed: 1\nseed: 2", "'seed' appears twice"),
        ("seed: !!python/object/apply:os.getpid []", "is not valid YAML"),
        ("seed: !!bool foo", "is not valid YAML: a value cannot be read: KeyError: 'foo'"),
        (f"seed: {'[' * 400}", "is not valid YAML: a value cannot be read: RecursionError"),
        ("a: &a [1]\nb: *a", "is not valid YAML: aliases (*name) are not allowed"),
        (f"description: {'x' * 300_000}", "it has more than 262,144 bytes"),
        ("a: !!set {b, c}", "unknown key 'a'"),
        ("algorithm: [ppo]", "algorithm is ['ppo']; did you mean 'ppo'?"),
        (f"seed: 0x{'f' * 20_000}", "seed is a value of type int: "),
        (b"\xff\xfe\x00", "is not in UTF-8: invalid start byte at byte 0; store it in UTF-8"),
    ],
)
def test_files_that_are_refused(message, text, expected):
    answer = message(text)
    assert expected in answer
    assert "run.yaml" in answer


def test_messages_are_short_and_quick(message):
    keys = "\n".join(f"key_{number}: 1" for number in range(1000))
    answer = message(keys)
    assert "unknown key 'key_0'" in answer
    assert "key_5" not in answer
    for text in (keys, f"seed: {'x' * 10**5}", f"{'x' * 10**5}: 1", f"tracker: {list(range(4000))}"):
        assert len(message(text)) < 3000
        assert len(message("", f"seed={text}", f"ppo.{text}")) < 3000


def test_every_number_has_bounds():
    for name, kind in algorithms().items():
        parts = []
        json.loads(json.dumps(kind.model_json_schema()), object_hook=parts.append)
        numbers = [part for part in parts if part.get("type") in ("integer", "number")]
        assert len(numbers) > 20
        for bounds in ({"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}):
            assert [number for number in numbers if not bounds & number.keys()] == [], name


def test_configurations_of_the_project_are_listed_and_found():
    paths = sorted(CONFIGS.glob("*.yaml"))
    assert [path for path, description in list_configs() if description] == paths
    for path in paths:
        config = load_config(path)
        assert config == load_config(path.stem) == load_config(f"configs/{path.name}")


def test_missing_file_names_the_nearest(tmp_path):
    (tmp_path / "unlike.yaml").write_text("description: of my own")
    (tmp_path / "notes.txt").write_text("no configuration")
    assert list_configs(tmp_path) == [(tmp_path / "unlike.yaml", "of my own")]
    assert list_configs(tmp_path / "missing") == []
    for name, message in (
        ("quik", r"there is no configuration quik; did you mean quick\?"),
        (tmp_path / "none" / "quik.yaml", r"there is no configuration .*quik\.yaml; did you mean quick\?"),
        (tmp_path / "zzz", r"no configuration .*zzz; train --list lists those"),
        (tmp_path, "there is no configuration"),
    ):
        with pytest.raises(ConfigError, match=message):
            load_config(name)


@pytest.mark.parametrize(
    ("algorithm", "override", "readers"),
    [
        ("td", "league.size=3", "maskable_ppo, ppo"),
        ("td", "network.width=3", "alphazero, maskable_ppo, ppo"),
        ("maskable_ppo", "ppo.epochs=3", "ppo"),
        ("alphazero", "league.size=3", "maskable_ppo, ppo"),
        ("ppo", "cluster.workers=2", "alphazero, solo_td, td"),
        ("solo_td", "reward.margin=1", "alphazero, maskable_ppo, ppo, td"),
        ("ppo", "td.games=3", "td"),
    ],
)
def test_sections_that_the_algorithm_does_not_read_are_errors(message, algorithm, override, readers):
    section = override.partition(".")[0]
    assert message(f"algorithm: {algorithm}", override) == (
        f"--set {override}: the algorithm {algorithm!r} does not read the section {section!r}; "
        f"it is read by {readers}"
    )


def test_other_names_of_a_key_give_its_name_here(message):
    for algorithm, old, new in (
        ("ppo", "lr", "ppo.learning_rate"),
        ("ppo", "discount", "ppo.gamma"),
        ("ppo", "ppo.n_steps", "ppo.rollout_steps"),
        ("maskable_ppo", "maskable_ppo.batch_size", "maskable_ppo.minibatch_size"),
    ):
        answer = message(f"algorithm: {algorithm}", f"{old}=1")
        assert answer == f"--set {old}=1: {old!r} is called {new!r} here"


def test_schedules_start_and_end_where_they_say():
    linear, geometric = Schedule(start=0.1, end=0.001), Schedule(start=0.1, end=0.001, curve="geometric")
    for schedule in (linear, geometric):
        assert schedule.at(0) == pytest.approx(0.1)
        assert schedule.at(1) == pytest.approx(0.001)
        assert schedule.at(1.5) == pytest.approx(0.001)
    assert linear.at(0.5) == pytest.approx((0.1 + 0.001) / 2)
    assert geometric.at(0.5) == pytest.approx(0.01)


def test_margins_of_runs_that_are_older_than_their_keys(tmp_path):
    """Then a margin of 40 points was 1, and no more counted; ``td`` has never cut margins."""
    path = tmp_path / "config.yaml"
    path.write_text("algorithm: ppo\nreward: {outcome: 1.0, margin: 0.5}\n", encoding="utf-8")
    assert load_config(path).reward == Reward(margin=0.5)
    assert load_config(path, stored=True).reward == Reward(margin=0.5, margin_scale=40.0, margin_cut=1.0)
    path.write_text("algorithm: td\nreward: {margin_scale: 30.0}\n", encoding="utf-8")
    assert load_config(path, stored=True).reward == Reward(margin_scale=30.0)
    with pytest.raises(ConfigError, match=r"reward.margin_cut is 1\.0; td learns whole margins"):
        load_config("td", ["reward.margin_cut=1.0"])
    with pytest.raises(ConfigError, match=r"openings is 1\.0, td.scripted_player_fraction 0\.05; the sum"):
        load_config("td", ["td.openings=1"])

"""Mutated configurations: YAML files and overrides."""

import re
import tempfile
from functools import partial
from pathlib import Path

from patchwork_env.errors import ConfigError
from tests.attack.mutations import ODD_VALUES, mutate_text, mutate_tree
from tests.attack.sound import pick, refused_or, require_line, require_message

BATCH = 10
_TAGS = ("bool", "int", "float", "timestamp", "binary", "set", "omap", "python/name:os.getpid")
_NOT_FROM_INSIDE = re.compile("a value cannot be read: .*")
"""The part of a message that comes from the YAML library, after the package's own words."""


def files(random):
    """Configurations whose text, or whose values, changed."""
    import yaml

    from patchwork_env.learning.config import CONFIGS, dump_config, load_config

    paths = sorted(CONFIGS.glob("*.yaml"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.yaml"
        for number in range(BATCH):
            first, second = pick(random, paths), pick(random, paths)
            if number % 2:
                text = mutate_text(first.read_text(), random, second.read_text())
            else:
                whole = yaml.safe_load(dump_config(load_config(first)))
                text = _as_yaml(mutate_tree(whole, random))
            path.write_text(text, encoding="utf-8", errors="replace")
            _try(path, ())


def overrides(random):
    """Overrides with known keys and odd values, and mutated ones."""
    from patchwork_env.learning.config import CONFIGS, algorithms
    from patchwork_env.learning.config.keys import section_keys

    keys = {name: section_keys(kind) for name, kind in algorithms().items()}
    for _ in range(BATCH):
        path = pick(random, sorted(CONFIGS.glob("*.yaml")))
        algorithm = re.search(r"algorithm: (\w+)", path.read_text())
        key = pick(random, keys[algorithm[1] if algorithm else "ppo"])
        values = (_as_yaml(pick(random, ODD_VALUES)), f"!!{pick(random, _TAGS)} foo", "[" * 3000, "*a")
        given = f"{key}={pick(random, values)}"
        if random.integers(3) == 0:
            given = mutate_text(given, random, "ppo.learning_rate={start: 1e-3, end: 1e-4}")
        _try(path, [given])


def _try(path, given):
    """Load a configuration, which must be refused, or be the same after storing and loading."""
    from patchwork_env.learning.config import dump_config, load_config

    config = _refused_or(load_config, path, given)
    if config is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "config.yaml"
        stored.write_text(dump_config(config), encoding="utf-8")
        assert load_config(stored) == config, "a configuration differs when it is read back"


def _require_message(error):
    require_line(error)
    own = _NOT_FROM_INSIDE.sub("", str(error))[:900]
    if own.strip():
        require_message(ValueError(own))


_refused_or = partial(refused_or, errors=ConfigError, require=_require_message)


def _as_yaml(tree):
    import yaml

    return yaml.safe_dump(tree, allow_unicode=True)


ATTACKS = {"config_files": files, "config_overrides": overrides}

"""Adds the final policy of a run to the agents of the package, under a name.

python tools/ship_agent.py RUN_DIR NAME

Writes patchwork_env/agents/shipped/NAME: compressed weights, and a checkpoint.json on the training.
Rows of Patchwork's values are rounded to the precision of play, so that they compress better.
Run it on the machine of the run.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from safetensors.numpy import load, save

from patchwork_env.agents import checkpoints
from patchwork_env.agents.checkpoints import (
    CHECKPOINT_FILE,
    PACKED_FILE,
    VALUE,
    pack,
    read_checkpoint,
    read_weights_file,
)
from patchwork_env.agents.patchwork.value import network as value
from patchwork_env.core.files import write_folder
from patchwork_env.games import PATCHWORK
from patchwork_env.learning.system import describe_machine


def ship(run: Path, name: str) -> Path:
    """Copies the final policy of a run to the agents of the package; returns its new folder."""
    final = run / "final"
    checkpoint = read_checkpoint(final)
    description = json.loads(checkpoint.file.read_text(encoding="utf-8"))
    configuration = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    description["info"] |= {
        key: configuration[key] for key in ("algorithm", "reward") if key in configuration
    }
    description["info"] |= {
        "made_with": "python -m training.train",
        "configuration": configuration,
        "machine": describe_machine(configuration["device"]),
    }

    def write(folder: Path) -> None:
        weights = read_weights_file(final)
        if (checkpoint.game, checkpoint.kind) == (PATCHWORK, VALUE):
            weights = round_rows(weights)
        (folder / PACKED_FILE).write_bytes(pack(weights))
        text = json.dumps(description, indent=1) + "\n"
        (folder / CHECKPOINT_FILE).write_text(text, encoding="utf-8")

    target = checkpoints.SHIPPED_FOLDER / name
    write_folder(target, write)
    return target


def round_rows(weights: bytes) -> bytes:
    """Rounds the rows of a file of weights to multiples of ``1 / ONE``, which choose the same actions."""
    arrays = load(weights)
    for name in value.TABLES:
        arrays[name] = np.rint(arrays[name] * value.ONE) / np.float32(value.ONE)
    return save(arrays)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path, metavar="RUN_DIR")
    parser.add_argument("name", metavar="NAME", help="lower case, digits and hyphens")
    options: Any = parser.parse_args()
    if not options.name.replace("-", "a").isidentifier() or options.name != options.name.lower():
        parser.error(f"the name is {options.name!r}; it must be made of lower case, digits and hyphens")
    try:
        print(f"wrote {ship(options.run, options.name)}")
    except (OSError, ValueError) as error:
        print(f"ship_agent.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

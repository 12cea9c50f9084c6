"""Errors of adapters whose library is not installed."""

import subprocess
import sys

import pytest

STATEMENTS = {
    "minari": "from patchwork_env.integrations.minari import record",
    "pyspiel": "import patchwork_env.integrations.open_spiel",
    "jax": "import patchwork_env.integrations.pgx",
    "openenv": "import patchwork_env.integrations.openenv",
    "torchrl": "import patchwork_env.integrations.torchrl",
    "stable_baselines3": "from patchwork_env.integrations.sb3 import SelfPlayVecEnv",
    "mcp_types": "import patchwork_env.integrations.mcp.server",
    "ray": "import patchwork_env.integrations.rllib",
}
"""A statement that needs a library, by the library's name."""
SCRIPT = """
import sys
for library, statement in {}.items():
    sys.modules[library] = None
    try:
        exec(statement)
    except ModuleNotFoundError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_sentence_says_what_to_install():
    script = SCRIPT.format(STATEMENTS)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for said, library in zip(done.stdout.splitlines(), STATEMENTS, strict=True):
        assert f"needs {library}: pip install " in said

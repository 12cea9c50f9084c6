"""Write the policy of a checkpoint as an ONNX file, which onnxruntime plays without PyTorch.

patchwork-env export runs/quick/final --out policy.onnx
patchwork-env export ppo-quick --out quick.onnx
patchwork-env evaluate policy.onnx --against greedy
"""

from __future__ import annotations

import argparse
from pathlib import Path

from patchwork_env import agents
from patchwork_env.agents import ONNX_SUFFIX
from patchwork_env.core.commands import CommandParser, add_overwrite, check_place, run_command
from patchwork_env.core.extras import from_extra
from patchwork_env.core.files import check_file_path, write_bytes


def main(arguments: list[str] | None = None, program: str = "patchwork-env export") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__)
    option = parser.add_argument
    option("checkpoint", metavar="CHECKPOINT", help="a folder, or the name of a policy of the package")
    option("--out", type=Path, metavar="PATH", default=Path("policy.onnx"), help="default: %(default)s")
    add_overwrite(parser)
    return run_command(parser, _run, arguments, program, "export")


def _run(options: argparse.Namespace) -> int:
    check_place(options, options.out, "--out")
    size = export_policy(options.checkpoint, options.out)
    print(f"{options.out}: {size / 1e6:.2f} MB, the policy of {options.checkpoint}")
    return 0


def export_policy(spec: str, out: Path) -> int:
    """Write a policy as an ONNX file atomically, replacing an existing one.

    The spec is the path of a checkpoint folder, or the name of a policy that comes with the package. Returns
    the size of the file, which :mod:`patchwork_env.agents.patchwork.policy.onnx_agent` describes, in bytes.

    Raises:
        ValueError: ``out`` does not end with ``.onnx``, or the spec names no policy that can be exported.
        FileNotFoundError: There is no checkpoint, or no folder for the file.
        ModuleNotFoundError: A library of the extra ``export`` is not installed.
    """
    if out.suffix != ONNX_SUFFIX:
        raise ValueError(
            f"--out is {str(out)!r}; its name must end with {ONNX_SUFFIX}, which makes it an agent"
        )
    check_file_path(out, "--out")
    agent, path = agents.load(spec), agents.path_of(spec)
    with from_extra("export", "exports need"):
        from patchwork_env.agents.checkpoints import read_checkpoint
        from patchwork_env.agents.networks import PolicyAgent
        from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
        from patchwork_env.agents.patchwork.policy.onnx_export import policy_to_onnx
    network = agent.network if isinstance(agent, PolicyAgent) and not agent.sample else None
    if path is None or not isinstance(network, PatchworkNetwork):
        raise ValueError(f"{spec!r} cannot be exported; give the checkpoint of a policy, without options")
    contents = policy_to_onnx(network, read_checkpoint(path).info)
    write_bytes(out, contents)
    return len(contents)

"""Publish a checkpoint and its figures on the Hugging Face Hub, where hf:owner/name is then an agent.

patchwork-env publish runs/ppo owner/name
patchwork-env publish runs/ppo/best owner/name --private
patchwork-env publish runs/ppo owner/name --dry-run folder

HF_TOKEN is the token for writing; hf auth login stores one, too.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from patchwork_env import agents
from patchwork_env.agents import hub
from patchwork_env.agents.checkpoints import copy_checkpoint
from patchwork_env.agents.specs import check_checkpoint, checkpoint_path
from patchwork_env.core.commands import CommandParser, add_overwrite, check_place, refuse, run_command
from patchwork_env.core.files import write_folder
from patchwork_env.learning.runs.folder import CONFIG_FILE, FINAL


def main(arguments: list[str] | None = None, program: str = "patchwork-env publish") -> int:
    """Run the command; return the exit code."""
    parser = CommandParser(__doc__)
    option = parser.add_argument
    option(
        "checkpoint", metavar="RUN_OR_CHECKPOINT", help="a run (its final policy), a checkpoint, or a name"
    )
    option("repository", metavar="OWNER/NAME", help="the repository, created if it does not exist")
    option("--private", action="store_true", help="whether a new repository is private")
    option(
        "--license", default="mit", metavar="NAME", help="the licence of the weights (default: %(default)s)"
    )
    option("--dry-run", type=Path, metavar="FOLDER", help="only write what would be published")
    add_overwrite(parser)
    return run_command(parser, _run, arguments, program, "train,hub")


def _run(options: argparse.Namespace) -> int:
    from patchwork_env.learning.reports.model_card import PAGE, model_card, read_origin

    hub.check_repository(options.repository)
    if options.dry_run:
        refuse(options, ["private"], "--dry-run publishes nothing")
    check_place(options, options.dry_run, "--dry-run")
    checkpoint = _checkpoint_of(options.checkpoint)
    page = model_card(read_origin(checkpoint), options.repository, options.license)

    def write(folder: Path) -> None:
        copy_checkpoint(checkpoint, folder)
        for file, most in hub.MOST_BYTES.items():
            size = (folder / file).stat().st_size
            if size > most:
                raise ValueError(f"{checkpoint / file} has {size:,} bytes; at most {most:,} can be published")
        (folder / PAGE).write_text(page, encoding="utf-8")

    if options.dry_run:
        write_folder(options.dry_run, write, replace=True)
        print(f"{options.dry_run} has what would be published; {options.dry_run / PAGE} is the page")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        write(Path(temporary))
        message = f"The policy of {checkpoint.name}"
        published = hub.publish(Path(temporary), options.repository, private=options.private, message=message)
    print(f"published as {published}")
    return 0


def _checkpoint_of(text: str) -> Path:
    if hub.is_on_hub(text):
        raise ValueError(f"{text} is on the Hub already")
    path = Path(checkpoint_path(text))
    if (path / CONFIG_FILE).is_file():
        path /= FINAL
    check_checkpoint(str(path))
    agents.load(path)  # raises if it is damaged
    return path

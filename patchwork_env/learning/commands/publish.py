"""Publishes a checkpoint on the Hugging Face Hub, with a page of its figures; then hf:owner/name is an agent.

patchwork-env publish runs/ppo owner/name
patchwork-env publish runs/ppo/best owner/name --private
patchwork-env publish runs/ppo owner/name --dry-run folder

HF_TOKEN is the token to write with; hf auth login keeps one, too.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from patchwork_env import agents
from patchwork_env.agents import hub
from patchwork_env.agents.checkpoints import CHECKPOINT_FILE, WEIGHTS_FILE
from patchwork_env.agents.specs import check_checkpoint, checkpoint_path, is_remote
from patchwork_env.core.commands import CommandParser, run_command
from patchwork_env.core.files import write_folder
from patchwork_env.learning.reports.model_card import PAGE, model_card, read_origin
from patchwork_env.learning.runs.folder import CONFIG_FILE, FINAL


def main(arguments: list[str] | None = None, program: str = "patchwork-env publish") -> int:
    """The command; returns the exit code."""
    return run_command(_parser(), _run, arguments, program)


def _run(options: argparse.Namespace) -> int:
    hub.check_repository(options.repository)
    checkpoint = checkpoint_of(options.checkpoint)
    if options.dry_run:
        write_publication(options.dry_run, checkpoint, options.repository, options.license, options.figures)
        print(f"{options.dry_run} has what would be published; {options.dry_run / PAGE} is the page")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "publication")
        write_publication(folder, checkpoint, options.repository, options.license, options.figures)
        published = hub.publish(
            folder, options.repository, private=options.private, message=f"The policy of {checkpoint.name}"
        )
    print(f"published as {published.name}")
    return 0


def checkpoint_of(text: str) -> Path:
    """The folder of the checkpoint that a text names: a run, whose final policy is meant, a folder or a name.

    Raises:
        FileNotFoundError: There is no such checkpoint.
        ValueError: The checkpoint cannot be played, or is on the Hub already.
    """
    if is_remote(text):
        raise ValueError(f"{text} is on the Hub already")
    path = Path(checkpoint_path(text))
    if (path / CONFIG_FILE).is_file():
        path /= FINAL
    check_checkpoint(str(path))
    agents.load(path)  # raises if it is damaged
    return path


def write_publication(
    folder: Path, checkpoint: Path, repository: str, licence: str, figures: Path | None = None
) -> None:
    """Writes a folder with what is published of a checkpoint: its two files and the page, and nothing else.

    Raises:
        FileExistsError: The folder exists.
        FileNotFoundError: See :func:`~patchwork_env.learning.reports.model_card.read_origin`.
        ValueError: See :func:`~patchwork_env.learning.reports.model_card.read_origin`; or a file is larger
            than what :func:`patchwork_env.agents.hub.fetch` would download.
    """
    page = model_card(read_origin(checkpoint, figures), repository, licence)
    for file, most in hub.MOST_BYTES.items():
        size = (checkpoint / file).stat().st_size
        if size > most:
            raise ValueError(f"{checkpoint / file} has {size:,} bytes; at most {most:,} can be published")

    def write(target: Path) -> None:
        for file in (CHECKPOINT_FILE, WEIGHTS_FILE):
            shutil.copyfile(checkpoint / file, target / file)
        (target / PAGE).write_text(page, encoding="utf-8")

    write_folder(folder, write)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        description="Publishes a checkpoint on the Hugging Face Hub, with a page made of its figures.",
        epilog="HF_TOKEN is the token to write with; `hf auth login` keeps one, too.",
    )
    parser.add_argument(
        "checkpoint",
        metavar="RUN_OR_CHECKPOINT",
        help="the folder of a run, whose final policy is meant, or of a checkpoint, or the name of one that "
        "comes with the package",
    )
    parser.add_argument("repository", metavar="OWNER/NAME", help="the repository, created if there is none")
    parser.add_argument("--private", action="store_true", help="whether a new repository is private")
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="FILE",
        help="figures from `patchwork-env evaluate --json`, instead of those of the run",
    )
    parser.add_argument(
        "--license", default="mit", metavar="NAME", help="the licence of the weights (default: %(default)s)"
    )
    parser.add_argument(
        "--dry-run", type=Path, metavar="FOLDER", help="write what would be published, and publish nothing"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

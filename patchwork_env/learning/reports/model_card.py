"""The page of a checkpoint on the Hugging Face Hub, its model card."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from patchwork_env import __version__
from patchwork_env.agents.checkpoints import CHECKPOINT_FILE, NETWORK, VALUE, WEIGHTS_FILE, read_checkpoint
from patchwork_env.agents.hub import PREFIX
from patchwork_env.core.documents import one_line
from patchwork_env.core.names import counted
from patchwork_env.games import rules_of
from patchwork_env.learning.evaluation.matches import hash_of_weights
from patchwork_env.learning.evaluation.records import read_evaluation
from patchwork_env.learning.evaluation.results import MATCH_COLUMNS, MatchFigures
from patchwork_env.learning.evaluation.runners import match_part
from patchwork_env.learning.evaluation.tables import MARKDOWN, Column, Table, render
from patchwork_env.learning.reports.run_results import read_result
from patchwork_env.learning.runs.folder import BEST, CONFIG_FILE, FINAL, best_file, steps_of

PAGE = "README.md"  # the name of the file that the Hub shows as the page of a repository
_KINDS = {
    NETWORK: "A policy network",
    VALUE: "A value of positions, with which an agent searches,",
}
"""The descriptions of kinds of checkpoints."""
_VERSIONS = ("patchwork_env", "python", "numpy", "numba", "torch")


@dataclass(frozen=True)
class Origin:
    """The known origin of a checkpoint."""

    game: str
    kind: str
    info: dict[str, Any]  # the checkpoint's record of its training
    weights: str  # the SHA-256 of its file of weights
    matches: tuple[MatchFigures, ...]  # those that measured these weights
    measured_on: str  # the machine that played them; empty if unknown
    was_chosen: bool  # by these matches, as the best of its run
    versions: dict[str, Any]  # `commit`, packages and `machine` that the run was started with, as known
    configuration: str  # of the run, as YAML; empty if unknown


def read_origin(folder: Path) -> Origin:
    """Return the origin of a checkpoint from its own files and from those of its run.

    FileNotFoundError if there is no checkpoint, ValueError if a file is damaged.
    """
    checkpoint, weights = read_checkpoint(folder), hash_of_weights(folder)
    game, info, run_folder = checkpoint.game, checkpoint.info, _run_of(folder)
    run = read_result(run_folder) if run_folder else None
    matches: tuple[MatchFigures, ...] = ()
    machine = ""
    evaluations = run.evaluations if run else ()
    if run_folder and folder.name == BEST and best_file(run_folder).is_file():
        evaluations = (read_evaluation(best_file(run_folder)),)
    for evaluation in evaluations:  # the newest one of these weights counts
        if evaluation.steps == info.get("steps") and evaluation.weights in (weights, None):
            matches, machine = evaluation.matches, evaluation.machine
    configuration = info.get("configuration")
    own_text = yaml.safe_dump(configuration, sort_keys=False) if configuration else ""
    return Origin(
        game,
        checkpoint.kind,
        info,
        weights,
        matches,
        machine,
        was_chosen=folder.name == BEST,
        versions=run.starts[-1] if run and run.starts else {},
        configuration=run.text if run else own_text,
    )


def _run_of(folder: Path) -> Path | None:
    """Return the folder of the run that holds a checkpoint; None without a run."""
    folder = folder.resolve()
    run = folder.parent if folder.name in (FINAL, BEST) else folder.parent.parent
    is_of_run = folder.parent == run or steps_of(folder) is not None
    return run if is_of_run and (run / CONFIG_FILE).is_file() else None


def model_card(origin: Origin, repository: str, licence: str = "mit") -> str:
    """Return the page of a checkpoint ``owner/name`` as Markdown, with metadata for the Hub."""
    title, steps = rules_of(origin.game).title, origin.info.get("steps")
    learned = f", learned by self-play in {counted(steps, 'step')}" if isinstance(steps, int) else ""
    parts: list[str | Table] = [
        f"---\n{yaml.safe_dump(_metadata(origin, repository, licence), sort_keys=False)}---",
        f"# {repository}",
        f"{_KINDS.get(origin.kind, 'A checkpoint')} for the board game {title}{learned}. It plays with "
        f"`patchwork-env`, which has the game, the agents and the code that trained it.",
        _how_to_load(
            f"{PREFIX}{repository}{origin.info.get('options', '')}", needs_torch=origin.kind != VALUE
        ),
        "## How well it plays",
        *_results(origin),
        "## How it was made",
        _making(origin),
    ]
    if origin.configuration:
        parts += ["The configuration:", _fenced(origin.configuration, "yaml")]
    return render(parts, MARKDOWN) + "\n"


def _metadata(origin: Origin, repository: str, licence: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "license": licence,
        "library_name": "patchwork-env",
        "tags": ["reinforcement-learning", "self-play", "board-game", origin.game],
    }
    results = [
        {
            "task": {"type": "reinforcement-learning", "name": rules_of(origin.game).title},
            "dataset": {
                "type": origin.game,
                "name": f"{counted(match.games, 'game')} against {one_line(match.opponent)}",
            },
            "metrics": [{"type": "win_rate", "value": round(match.win_rate, 4), "name": "win rate"}],
        }
        for match in origin.matches
    ]
    if results:
        metadata["model-index"] = [{"name": repository.partition("/")[2], "results": results}]
    return metadata


def _how_to_load(spec: str, needs_torch: bool) -> str:
    extras = "hub,train" if needs_torch else "hub"
    code = (
        "from patchwork_env import agents\n\n"
        f'agent = agents.load("{spec}")  # OWNER/NAME@COMMIT stays the same when this page changes'
    )
    return (
        f"{_fenced(code, 'python')}\n\n"
        f"In a clone of the project, `pip install '.[{extras}]'` installs what this needs. The same text is "
        f"an agent on the command line, such as in "
        f"`patchwork-env evaluate {spec} --against greedy`, and an opponent of an environment. "
        f"Two files are downloaded, `{CHECKPOINT_FILE}` and `{WEIGHTS_FILE}`; nothing in them is executed."
    )


def _results(origin: Origin) -> list[str | Table]:
    if not origin.matches:
        return ["These weights have not been evaluated; use `patchwork-env evaluate`."]
    part = match_part(origin.game)
    how = f"each {part.set_up} once for both sides" if part.is_noninteractive else "from both seats"
    columns = [Column("against"), *MATCH_COLUMNS, Column("score", "{:.1f}".format)]
    rows = [[one_line(match.opponent), *match.cells, match.score] for match in origin.matches]
    place = f" on {origin.measured_on}" if origin.measured_on else ""
    played = f"Paired games, {how}{',' if place else ''}{place}."
    if origin.was_chosen:
        played += (
            " These games chose the policy as the best of its run, so its results are slightly too good."
        )
    return [Table(columns, rows), played]


def _making(origin: Origin) -> str:
    info, versions = origin.info, origin.versions
    seconds, time = info.get("seconds"), ""
    if isinstance(seconds, int | float):
        is_long = seconds >= 60
        time = counted(round(seconds / 60), "minute") if is_long else counted(round(seconds), "second")
    known = {
        "Algorithm": info.get("algorithm"),
        "Steps": f"{info['steps']:,}" if isinstance(info.get("steps"), int) else None,
        "Time": f"{time} of playing and learning" if time else None,
        "Machine": versions.get("machine") or info.get("machine"),
        "Versions": ", ".join(f"{name} {versions[name]}" for name in _VERSIONS if name in versions),
        "Commit": versions.get("commit"),
        "Weights": f"SHA-256 `{origin.weights}`",
        "Published with": f"patchwork-env {__version__}",
    }
    return "\n".join(f"- {name}: {one_line(str(value))}" for name, value in known.items() if value)


def _fenced(text: str, language: str) -> str:
    """Return a block of code with a fence longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"

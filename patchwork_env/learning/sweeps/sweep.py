"""A sweep in its folder: an Optuna study, each of whose trials is a run.

SWEEP/config.yaml        the configuration that all trials share
SWEEP/study.jsonl        the study: the settings of the sweep, and of every trial its values, its evaluations
                         and how it ended; a journal of Optuna, which its own tools read, too
SWEEP/trials/003/        the run of a trial, which is a run as any other
SWEEP/trials/003.log     what it printed
SWEEP/results.csv        the table of the trials
SWEEP/winner.json        the best trial, measured again on circles or decks that it was not chosen by
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from itertools import combinations, product
from math import inf, prod
from pathlib import Path
from typing import Any, Literal, NamedTuple

from patchwork_env.core.checks import check_seed, offset_seed
from patchwork_env.core.cores import usable_cores
from patchwork_env.core.documents import one_line, read_object, read_text
from patchwork_env.core.extras import from_extra
from patchwork_env.core.files import make_folder, remove_partial, storing_in, write_bytes, write_text
from patchwork_env.errors import ConfigError, InUseError, WorkerError
from patchwork_env.learning.config import (
    ClusterRun,
    RunConfig,
    dump_config,
    find_config,
    load_config,
    parse_yaml,
)
from patchwork_env.learning.distributed import (
    RETRIES,
    OnCluster,
    RayPool,
    check_workers,
    connected,
    do_in_processes,
)
from patchwork_env.learning.evaluation.matches import play_matches
from patchwork_env.learning.evaluation.records import RunEvaluation, as_type, read_evaluation
from patchwork_env.learning.evaluation.runners import runner_of
from patchwork_env.learning.evaluation.tables import Column, Table
from patchwork_env.learning.runs.checkpoints import free_folder, new_run_folder
from patchwork_env.learning.runs.folder import CONFIG_FILE, FINAL, evaluation_files
from patchwork_env.learning.runs.run import Run, check_names, new_run, resumed_run
from patchwork_env.learning.sweeps import FORMS, OPPONENT, RANDOM
from patchwork_env.learning.system import exclusive_lock

with from_extra("sweep", "sweeps need"):
    import optuna
    from optuna.pruners import NopPruner, SuccessiveHalvingPruner
    from optuna.samplers import TPESampler
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock, JournalStorage
    from optuna.trial import FrozenTrial, TrialState
optuna.logging.set_verbosity(optuna.logging.WARNING)

STUDY_FILE = "study.jsonl"
FINISHED, STOPPED, UNFINISHED, FAILED = "finished", "stopped", "unfinished", "failed"
_ERROR, _SETTINGS = "error", "settings"
_LARGEST_REDUCTION = 1000
_SECONDS_FOR_LOST_PROCESS = 30
"""How long a trial waits for a process that its sweep has lost, and which soon ends."""
Values = dict[str, Any]  # values by full key, as Optuna keeps them: numbers, and the choices of lists as JSON

_MOST_TRIALS = 1000
_LARGEST = 1e15
_ASSIGNMENT = re.compile(r"\s*(?P<key>[\w.]+)\s*=\s*(?P<form>\w+)\s*\((?P<inner>.*)\)\s*", re.DOTALL)
_ALIKE = {
    "evaluation": "trials are compared by their evaluations",
    "game": "trials are compared by their evaluations",
    "cluster": "trials have no workers of their own",
    "threads": "each trial takes as many processors",
    "device": "each trial takes as many processors",
    "description": "it changes nothing",
}
"""The sections and keys that cannot vary, each with the reason."""


# --- parameters, and the values that trials begin with ------------------------------------------------------


class Parameter(NamedTuple):
    """A key of the configuration and the values that it can have, in one of the forms of sweeps."""

    key: str
    form: str
    values: tuple[Any, ...]
    """All values of a choice or a grid as JSON, or else the lowest and the highest value."""
    text: str  # the parameter as the command takes it

    @property
    def number_of_values(self) -> float:
        """How many different values there are; infinity for real numbers."""
        if self.form == "integer":
            return float(self.values[1] - self.values[0] + 1)
        return inf if self.form.endswith("uniform") else len(self.values)

    def suggest(self, trial: optuna.Trial) -> Any:
        """The value of a trial, which its study draws the first time."""
        if self.form in ("choice", "grid"):
            return trial.suggest_categorical(self.key, self.values)
        low, high = self.values
        if self.form == "integer":
            return trial.suggest_int(self.key, low, high)
        return trial.suggest_float(self.key, low, high, log=self.form == "loguniform")


def parse_parameter(text: str) -> Parameter:
    """Parses a parameter as the command takes it, such as ``ppo.gamma=uniform(0.9, 1)``."""
    match, source = _ASSIGNMENT.fullmatch(text), _source_of(text)
    if match is None or match["form"] not in FORMS:
        raise ConfigError(f"{source}: must be KEY=FORM, where FORM is one of {', '.join(FORMS.values())}")
    key, form = match["key"], match["form"]
    if reason := _ALIKE.get(key.partition(".")[0]):
        raise ConfigError(f"{source}: {key} is alike in all trials, for {reason}; --set it")
    try:
        values = parse_yaml(f"[{match['inner']}]")
    except ValueError as error:
        raise ConfigError(f"{source}: ({one_line(match['inner'])}) is not valid YAML: {error}") from None
    if form in ("choice", "grid"):
        return Parameter(key, form, _choices(values, form, source), text)
    kinds, what = ((int,), "integers") if form == "integer" else ((int, float), "numbers")
    if len(values) != 2 or any(type(value) not in kinds for value in values) or not values[0] < values[1]:
        raise ConfigError(f"{source}: {FORMS[form]} takes two {what}, the lower one first")
    if not -_LARGEST <= values[0] < values[1] <= _LARGEST:
        raise ConfigError(f"{source}: numbers from {-_LARGEST:g} to {_LARGEST:g} are allowed")
    if form == "loguniform" and values[0] <= 0:
        raise ConfigError(f"{source}: low is {values[0]}; it must be above 0")
    return Parameter(key, form, tuple(values), text)


def _choices(values: Sequence[Any], form: str, source: str) -> tuple[str, ...]:
    try:
        choices = tuple(map(json.dumps, values))
    except TypeError:  # a date, a set or bytes
        raise ConfigError(f"{source}: values are numbers, texts, true, false, null and lists") from None
    if not choices or len(set(choices)) < len(choices):
        raise ConfigError(f"{source}: {FORMS[form]} takes at least one value, and each once")
    return choices


def _source_of(text: str) -> str:
    return f"--param {one_line(text)}"


def draw_trials(
    parameters: Sequence[Parameter], count: int | None = None, seed: int = 0, sampler: str = RANDOM
) -> list[Values]:
    """The values with which trials begin: every combination of the grids, with drawn values of the others.

    ``count`` is the number of different trials for each combination, 1 if None; ``tpe`` draws them later.
    """
    if not parameters:
        raise ConfigError("a sweep needs parameters: --param KEY=FORM")
    for one, other in combinations(parameters, 2):
        if f"{one.key}.".startswith(f"{other.key}.") or f"{other.key}.".startswith(f"{one.key}."):
            raise ConfigError(
                f"--param {one_line(one.text)} and {one_line(other.text)} are about the same key"
            )
    grids = [parameter for parameter in parameters if parameter.form == "grid"]
    combined = prod(len(grid.values) for grid in grids)
    if count is not None and len(grids) == len(parameters):
        raise ConfigError(
            f"--trials is {count}, but all parameters are grids: their combinations are the trials"
        )
    count = 1 if count is None else count
    if not 1 <= count * combined <= _MOST_TRIALS:
        raise ConfigError(
            f"there are {combined:,} combinations of the grids, with {count:,} trials each; "
            f"allowed are 1 to {_MOST_TRIALS:,} trials in all"
        )
    possible = prod(parameter.number_of_values for parameter in parameters if parameter not in grids)
    if count > possible:
        raise ConfigError(
            f"--trials is {count}, but the parameters have only {possible:.0f} different values"
        )
    names, trials = [grid.key for grid in grids], list[Values]()
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed))
    for values in product(*(grid.values for grid in grids)):
        combination = dict(zip(names, values, strict=True))
        different: dict[str, Values] = {}
        while sampler == RANDOM and len(different) < count:
            study.enqueue_trial(combination)
            trial = study.ask()
            drawn = {parameter.key: parameter.suggest(trial) for parameter in parameters}
            different.setdefault(json.dumps(drawn), drawn)
        trials += different.values() or [combination] * count
    return trials


def overrides(values: Mapping[str, Any]) -> list[str]:
    """The values of a trial in the form that ``--set`` takes."""
    return [f"{key}={value}" for key, value in values.items()]


def check_trials(
    path: Path, settings: Sequence[str], parameters: Sequence[Parameter], trials: Sequence[Values]
) -> None:
    """Raises ConfigError unless every trial, and the bounds of parameters, make a valid configuration."""
    lowest = {parameter.key: parameter.values[0] for parameter in parameters}
    tried = [lowest | trial for trial in trials]
    for parameter in parameters:
        values = map(float, parameter.values) if parameter.form.endswith("uniform") else parameter.values
        tried += [lowest | trials[0] | {parameter.key: value} for value in values]
    for trial in tried:
        changes = overrides(trial)
        try:
            load_config(path, [*settings, *changes])
        except ConfigError as error:
            message = str(error)
            for parameter, change in zip(parameters, changes, strict=True):
                message = message.replace(f"--set {one_line(change)}", _source_of(parameter.text))
            where = "" if "--param" in message else f" (with {', '.join(changes)})"
            raise ConfigError(message + where) from None


# --- a sweep in its folder ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SweepSettings:
    """The options of a sweep.

    After ``grace`` steps, of every ``reduction`` trials one goes on, and again after ``reduction`` times as
    many, and so on; no trial ends early if ``grace`` is 0.
    """

    parameters: tuple[str, ...]
    metric: Literal["win_rate", "score_difference", "score"]  # what trials are compared by; more is better
    against: str  # the opponent in the evaluations that the metric is taken from
    sampler: Literal["random", "tpe"]
    seed: int
    grace: int = 0
    reduction: int = 3
    workers: int | None = None
    """The largest number of trials at the same time; None for as many as there are processors for."""
    cluster: str | None = None  # the address of a Ray cluster; None for processes of this machine


class Row(NamedTuple):
    """A trial of a sweep, and its newest evaluation, if there is one yet."""

    number: int
    values: Values
    state: str
    error: str | None
    evaluation: RunEvaluation | None


def begin_sweep(folder: Path, config: RunConfig, settings: SweepSettings, trials: Sequence[Values]) -> Sweep:
    """Writes the files of a new sweep; the last one is that of the study, which makes the folder a sweep."""
    temporary = folder / f".{STUDY_FILE}.partial"
    with storing_in(folder):
        make_folder(folder / "trials")
        write_text(folder / CONFIG_FILE, dump_config(config))
        study = optuna.create_study(storage=_storage(temporary), study_name="sweep", direction="maximize")
        study.set_user_attr(_SETTINGS, asdict(settings))
        for values in trials:
            study.enqueue_trial(values)
        for _ in trials:
            study.ask()  # every trial has its number from the beginning
        temporary.replace(folder / STUDY_FILE)
    return Sweep(folder)


def _storage(path: Path) -> JournalStorage:
    return JournalStorage(JournalFileBackend(str(path), JournalFileOpenLock(str(path))))


class Sweep:
    """A sweep in its folder; FileNotFoundError or ValueError if it holds none, or a damaged one."""

    def __init__(self, folder: Path) -> None:
        path = folder / STUDY_FILE
        if not path.is_file():
            raise FileNotFoundError(f"{folder} is no sweep: it holds no {STUDY_FILE}")
        try:
            self.study = optuna.load_study(study_name="sweep", storage=_storage(path))
            settings = self.study.user_attrs[_SETTINGS]
        except (LookupError, ValueError, TypeError, AttributeError, AssertionError) as error:
            raise ValueError(f"{path} is damaged: {one_line(str(error))}") from None
        self.folder, self.settings = folder, as_type(SweepSettings, settings, path)
        self.config = load_config(folder / CONFIG_FILE)
        self._read: dict[int, tuple[tuple[Path, int], RunEvaluation]] = {}
        self.study.pruner = NopPruner()
        if self.settings.grace:
            self.study.pruner = SuccessiveHalvingPruner(self.settings.grace, self.settings.reduction)

    def mend(self) -> None:
        """Lets trials that failed go on, and drops half a line of the study that a loss of power left."""
        path = self.folder / STUDY_FILE
        contents = path.read_bytes()
        whole = contents[: contents.rfind(b"\n") + 1]
        if whole != contents:
            write_bytes(path, whole)
        for trial in self.study.trials:
            if trial.user_attrs.get(_ERROR):
                optuna.Trial(self.study, trial._trial_id).set_user_attr(_ERROR, None)

    def run_folder(self, number: int) -> Path:
        """The folder of the run of a trial."""
        return self.folder / "trials" / f"{number:03}"

    def trial(self, number: int) -> optuna.Trial:
        """A trial to be trained, with all of its values; the sampler draws those that it lacks."""
        self.study.sampler = TPESampler(seed=(self.settings.seed + number) % 2**32)
        trial = optuna.Trial(self.study, self.study.trials[number]._trial_id)
        for text in self.settings.parameters:
            parse_parameter(text).suggest(trial)
        return trial

    def rows(self) -> list[Row]:
        """All trials: those that finished, then those that were stopped, the best of each first."""
        rows = [self._row(trial) for trial in self.study.trials]
        order = (FINISHED, STOPPED, UNFINISHED, FAILED)
        return sorted(rows, key=lambda row: (order.index(row.state), -self.metric_of(row.evaluation)))

    def _row(self, trial: FrozenTrial) -> Row:
        states = {TrialState.COMPLETE: FINISHED, TrialState.PRUNED: STOPPED}
        error = trial.user_attrs.get(_ERROR)
        state = FAILED if error else states.get(trial.state, UNFINISHED)
        return Row(trial.number, trial.params, state, error, self._newest_evaluation(trial.number))

    def _newest_evaluation(self, number: int) -> RunEvaluation | None:
        files = list(evaluation_files(self.run_folder(number)).values())
        if not files:
            return None
        seen = files[-1], files[-1].stat().st_mtime_ns
        if number not in self._read or self._read[number][0] != seen:
            self._read[number] = seen, read_evaluation(files[-1])
        return self._read[number][1]

    def metric_of(self, evaluation: RunEvaluation | None) -> float:
        """What trials are compared by, in an evaluation of a run; minus infinity if there is none."""
        match = evaluation and evaluation.match(self.settings.against)
        return match.metric(self.settings.metric) if match else float("-inf")

    def table(self, rows: Sequence[Row]) -> Table:
        """The :meth:`rows` as a table, with values and the figures of the newest evaluations."""
        keys = [parse_parameter(text).key for text in self.settings.parameters]
        opponents = self.config.evaluation.opponents
        columns = [Column("trial", "{:03}".format), *(Column(key, _shown) for key in keys), Column("state")]
        columns += [Column("steps", "{:,}".format), Column("minutes", "{:.1f}".format)]
        for name in opponents:
            columns += [
                Column(f"win_rate_against_{name}", "{:.1%}".format),
                Column("95%", _interval, (f"win_rate_low_against_{name}", f"win_rate_high_against_{name}")),
            ]
            for figure in ("score", "score_difference"):
                is_metric = (figure, name) == (self.settings.metric, self.settings.against)
                columns.append(Column(f"{figure}_against_{name}", "{:.2f}".format if is_metric else None))
        columns.append(Column("error", None))
        cells = []
        for row in rows:
            evaluation, values = row.evaluation, map(row.values.get, keys)
            figures: list[Any] = [evaluation.steps, evaluation.minutes] if evaluation else [None] * 2
            for name in opponents:
                match = evaluation.match(name) if evaluation else None
                figures += (
                    [match.win_rate, match.win_rate_interval, match.score, match.score_difference]
                    if match
                    else [None] * 4
                )
            cells.append([row.number, *values, row.state, *figures, row.error])
        return Table(columns, cells)

    def write_table(self, rows: Sequence[Row]) -> Table:
        """Writes ``results.csv``; returns the table."""
        table = self.table(rows)
        with storing_in(self.folder):
            write_text(self.folder / "results.csv", table.csv())
        return table

    def measure_again(self, row: Row) -> dict[str, Any]:
        """The final policy of a trial in a match on circles or decks that no trial was compared on.

        The best of many trials owes its place in part to luck in the evaluation by which it was chosen. The
        match is played once, and kept in ``SWEEP/winner.json``.
        """
        assert row.evaluation is not None
        path, chosen = self.folder / "winner.json", {"trial": row.number, "steps": row.evaluation.steps}
        if path.is_file():
            kept = read_object(path, "match", finite=False)
            if chosen.items() <= kept.items():
                return dict(kept["match"])
        folder = self.run_folder(row.number)
        config, policy = load_config(folder / CONFIG_FILE), str(folder / FINAL)
        games, seed = config.evaluation.final_games, offset_seed(config.evaluation.seed, 1)
        match = play_matches(
            policy, self.settings.against, games, seed, game=config.game, **config.variant
        ).as_dict()
        with storing_in(self.folder):
            write_text(path, json.dumps(chosen | {"match": match}, indent=1) + "\n")
        return match

    def train(self, numbers: Sequence[int], workers: int | None, cluster: str | None) -> Iterator[int]:
        """Trains trials to their ends; yields the number of each that has ended.

        A trial whose process is lost goes on from its newest checkpoint; WorkerError if that happens too
        often.
        """
        place, threads = (str(self.folder.resolve()), os.getcwd()), self.config.threads
        most = workers or max(usable_cores() // threads, 1)
        if cluster is not None:
            with connected(cluster, most * threads, "--cluster needs") as ray:
                gpus = int(self.config.device.startswith("cuda"))
                pool = RayPool(ray, workers, processors=threads, gpus=gpus)
                for index, _ in pool.imap(run_trial, place, numbers):
                    yield numbers[index]
            return
        left, losses = list(numbers), 0
        while left:
            try:
                for index, _ in do_in_processes(run_trial, place, left, most):
                    yield left[index]
                return
            except WorkerError:
                losses += 1
                if losses > RETRIES:
                    raise
                left = sorted(row.number for row in self.rows() if row.state == UNFINISHED)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _interval(ends: tuple[float, float]) -> str:
    return "{:.1%} to {:.1%}".format(*ends)


# --- in the process of a trial ----------------------------------------------------------------------------


def run_trial(place: tuple[str, str], number: int) -> None:
    """Trains the run of a trial, resumed or new, to its end; the study gets its metric or error.

    ``place`` is the folder of the sweep, and that in which the command was started.
    """
    folder, directory = place
    os.chdir(directory)
    sweep = Sweep(Path(folder))
    trial, study = sweep.trial(number), sweep.study
    path = sweep.run_folder(number).with_suffix(".log")
    with path.open("a", encoding="utf-8") as log, redirect_stdout(log), redirect_stderr(log):
        try:
            exit_code = _train(sweep, trial)
        except optuna.TrialPruned:
            study.tell(trial, state=TrialState.PRUNED)
            return
        except Exception as error:
            trial.set_user_attr(_ERROR, one_line(f"{type(error).__name__}: {error}", 1000))
            return
    if exit_code:
        os._exit(exit_code)
    evaluation = sweep._row(study.trials[number]).evaluation
    study.tell(trial, sweep.metric_of(evaluation))


def _train(sweep: Sweep, trial: optuna.Trial) -> int:
    folder = sweep.run_folder(trial.number)
    config = load_config(sweep.folder / CONFIG_FILE, overrides(trial.params))
    known = sweep.study.trials[trial.number].intermediate_values

    def report(file: Path) -> None:
        evaluation = read_evaluation(file)
        steps = evaluation.steps
        if steps not in known:
            trial.report(sweep.metric_of(evaluation), steps)
            if steps < config.total_steps and trial.should_prune():
                raise optuna.TrialPruned

    for file in evaluation_files(folder).values():
        report(file)
    with ExitStack() as stack:
        run = _run_in(folder, config, stack)
        run.evaluated = report
        return run.train()


def _run_in(folder: Path, config: RunConfig, stack: ExitStack) -> Run:
    """The run of a trial, resumed or new; a process that the sweep has lost gets time to end."""
    deadline = time.monotonic() + _SECONDS_FOR_LOST_PROCESS
    while True:
        try:
            if (folder / CONFIG_FILE).is_file():
                return stack.enter_context(resumed_run(folder))
            shutil.rmtree(folder, ignore_errors=True)  # what a killed process had begun
            return stack.enter_context(new_run(config, folder))
        except InUseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


# --- the command ------------------------------------------------------------------------------------------


def run(options: argparse.Namespace) -> int:
    """Carries out what the options of the command say; returns the exit code."""
    with ExitStack() as stack:
        sweep = _resumed(options, stack) if options.resume else _new(options, stack)
        return _train_all(sweep, options)


def _new(options: argparse.Namespace, stack: ExitStack) -> Sweep:
    """Begins a sweep; nothing is written before everything that can be checked is checked."""
    path = find_config(options.config)
    parameters = [parse_parameter(text) for text in options.param]
    config, changes = _common_config(path, options.set)
    settings = _settings(options, config)
    trials = draw_trials(parameters, options.trials, settings.seed, settings.sampler)
    check_trials(path, changes, parameters, trials)
    folder = new_run_folder(options.out or free_folder(Path("runs") / f"{path.stem}-sweep"))
    stack.enter_context(exclusive_lock(folder))
    sweep, options.folder = begin_sweep(folder, config, settings, trials), folder
    print(f"new sweep in {folder}: {len(trials)} trials of {path}")
    print(f"if it is cut off, go on with --resume {folder}", flush=True)
    return sweep


def _resumed(options: argparse.Namespace, stack: ExitStack) -> Sweep:
    sweep, options.folder = Sweep(options.resume), options.resume
    stack.enter_context(exclusive_lock(sweep.folder))
    with storing_in(sweep.folder):
        remove_partial(sweep.folder)
        sweep.mend()
    return sweep


def _common_config(path: Path, changes: Sequence[str]) -> tuple[RunConfig, list[str]]:
    config, settings = load_config(path, changes), list(changes)
    if "threads" not in (parse_yaml(read_text(path)) or {}) and "threads=" not in "".join(changes):
        settings.append("threads=1")
        config = load_config(path, settings)
    if isinstance(config, ClusterRun) and config.cluster.workers:
        raise ConfigError(
            f"cluster.workers is {config.cluster.workers}; trials have no workers of their own: "
            "--set cluster.workers=0"
        )
    if not config.evaluation.opponents:
        raise ConfigError("evaluation.opponents is []; trials are compared by their evaluations")
    check_names(config)
    return config, settings


def _settings(options: argparse.Namespace, config: RunConfig) -> SweepSettings:
    opponents, steps = config.evaluation.opponents, config.total_steps
    against = options.against or (OPPONENT if OPPONENT in opponents else opponents[-1])
    if against not in opponents:
        raise ConfigError(f"--against {against}: evaluation.opponents are {', '.join(opponents)}")
    grace, reduction = 0, 3 if options.reduction is None else options.reduction
    if options.scheduler == "asha":
        if not 2 <= reduction <= _LARGEST_REDUCTION:
            raise ConfigError(f"--reduction is {reduction}; allowed are 2 to {_LARGEST_REDUCTION}")
        grace = max(steps // reduction**2, 1) if options.grace is None else options.grace
        if not 1 <= grace < steps:
            raise ConfigError(f"--grace is {grace}; allowed are 1 to total_steps - 1, {steps - 1}")
    _check_workers(options.workers, options.cluster)
    metric: Any = options.metric or runner_of(config.game).metric
    sampler: Any = options.sampler or RANDOM
    return SweepSettings(
        parameters=tuple(options.param),
        metric=metric,
        against=against,
        sampler=sampler,
        seed=check_seed(options.seed or 0),
        grace=grace,
        reduction=reduction,
        workers=options.workers,
        cluster=options.cluster,
    )


def _check_workers(workers: int | None, cluster: str | None) -> None:
    check_workers(OnCluster(cluster, workers) if cluster is not None else 1 if workers is None else workers)


# --- while it runs ----------------------------------------------------------------------------------------


def _train_all(sweep: Sweep, options: argparse.Namespace) -> int:
    """Trains the trials that have not ended, and reports; ``--workers`` and ``--cluster`` are as before."""
    workers = options.workers or sweep.settings.workers
    cluster = options.cluster or sweep.settings.cluster
    _check_workers(workers, cluster)
    began, rows = time.monotonic(), sweep.rows()
    left = sorted(row.number for row in rows if row.state == UNFINISHED)
    print(f"{len(rows) - len(left)} of {len(rows)} trials have ended", flush=True)
    for number in sweep.train(left, workers, cluster) if left else ():
        rows = sweep.rows()
        sweep.write_table(rows)
        row = next(row for row in rows if row.number == number)
        end = f"{row.state}: {row.error}" if row.error else row.state
        ended = sum(row.state != UNFINISHED for row in rows)
        minutes = (time.monotonic() - began) / 60
        print(f"{minutes:6.1f} min  trial {number:03} {end} ({ended} of {len(rows)} have ended)", flush=True)
    return _report(sweep)


def _report(sweep: Sweep) -> int:
    rows = sweep.rows()
    table = sweep.write_table(rows)
    name = f"{sweep.settings.metric} against {sweep.settings.against}"
    print("\n".join(["", f"by {name}, the best first", "", *table.lines(), ""]))
    for row in rows:
        if row.error:
            print(f"trial {row.number:03} failed: {row.error}")
    print(f"results: {sweep.folder / 'results.csv'}")
    best = rows[0]
    if best.state != FINISHED:
        return 2
    print(f"best: {sweep.run_folder(best.number)}, with config.yaml and final/")
    match = sweep.measure_again(best)
    low, high = match["win_rate_interval"]
    wins = f"wins {match['win_rate']:.1%} ({low:.1%} to {high:.1%}) against {match['opponent']}"
    score, difference = match["sides"]["agent"]["score"], match["score_difference"]
    print(
        f"measured again, on circles or decks that no trial was chosen by: {wins}, "
        f"score {score:.1f}, score difference {difference:.1f}"
    )
    return 0

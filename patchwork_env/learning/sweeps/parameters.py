"""The parameters of a sweep: keys of the configuration, each with the values that trials can have."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from math import inf, prod
from pathlib import Path
from typing import Any, NamedTuple

from patchwork_env.core.documents import one_line
from patchwork_env.core.extras import from_extra
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config import load_config, parse_yaml
from patchwork_env.learning.sweeps import FORMS, RANDOM

with from_extra("sweep", "sweeps need"):
    import optuna
optuna.logging.set_verbosity(optuna.logging.WARNING)

Values = dict[str, Any]
"""Values by full key, as Optuna keeps them: numbers, and the choices of lists as JSON."""

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


class Parameter(NamedTuple):
    """A key of the configuration and the values that it can have, in one of the forms of sweeps."""

    key: str
    form: str
    values: tuple[Any, ...]
    """All values of a choice or a grid as JSON, or else the lowest and the highest value."""
    text: str
    """The parameter as the command takes it."""

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

    ``count`` is the number of trials for each combination, no two of them alike; None for 1. With the sampler
    ``tpe`` only the grids have values yet.
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
    """Raises ConfigError, before anything begins, unless every trial has a valid configuration.

    ``settings`` are changes to the configuration of all trials. The bounds of the parameters, and values that
    no trial has drawn, must be valid as well.
    """
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

"""What a sweep varies: keys of the configuration, each with the values that trials try."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from patchwork_env.errors import ConfigError
from patchwork_env.learning.config import RunConfig, load_config, parse_yaml

Values = dict[str, Any]
"""What a trial sets, by full key."""

FORMS = {
    "choice": "choice(a, b, ...)",
    "grid": "grid(a, b, ...)",
    "uniform": "uniform(low, high)",
    "loguniform": "loguniform(low, high)",
    "integer": "integer(low, high)",
}
"""The ways to say what a parameter may be."""

_ASSIGNMENT = re.compile(r"\s*(?P<key>[\w.]+)\s*=\s*(?P<form>\w+)\s*\((?P<inner>.*)\)\s*", re.DOTALL)
_FIXED = {
    "evaluation": "trials are compared by their evaluations",
    "game": "trials are compared by their evaluations",
    "cluster": "trials have no workers of their own",
    "threads": "each trial takes as many processors",
    "device": "each trial takes as many processors",
    "description": "it changes nothing",
}
"""Sections and keys that are alike in all trials, and why."""
_DIGITS = 4
"""Of numbers that are drawn, so that people can read them."""
_ATTEMPTS = 1000
"""To draw values that no trial has yet."""


@dataclass(frozen=True)
class Parameter:
    """A key and what it may be.

    Attributes:
        key: Of the configuration, in full.
        form: One of :data:`FORMS`.
        values: All of a choice or a grid, or the lowest and the highest one.
        text: What the user wrote.
    """

    key: str
    form: str
    values: tuple[Any, ...]
    text: str

    @property
    def is_range(self) -> bool:
        """Whether ``values`` are bounds."""
        return self.form not in ("choice", "grid")

    def draw(self, rng: np.random.Generator) -> Any:
        """A value at random."""
        if not self.is_range:
            return self.values[rng.integers(len(self.values))]
        low, high = self.values
        if self.form == "integer":
            return int(rng.integers(low, high, endpoint=True))
        drawn = rng.uniform(low, high) if self.form == "uniform" else exp(rng.uniform(log(low), log(high)))
        return min(max(float(f"{drawn:.{_DIGITS}g}"), float(low)), float(high))


def parse_parameter(text: str) -> Parameter:
    """A parameter as the command takes it.

    Args:
        text: As in ``ppo.learning_rate.start=loguniform(1e-4, 1e-2)``.

    Raises:
        ConfigError: It says something else; the message tells what is allowed.
    """
    match = _ASSIGNMENT.fullmatch(text)
    if match is None or match["form"] not in FORMS:
        raise ConfigError(
            f"--param {text}: must be KEY=FORM, where FORM is one of {', '.join(FORMS.values())}"
        )
    key, form = match["key"], match["form"]
    fixed = _FIXED.get(key.partition(".")[0])
    if fixed is not None:
        raise ConfigError(f"--param {text}: {key} is alike in all trials, for {fixed}; --set it")
    try:
        values = parse_yaml(f"[{match['inner']}]")
    except yaml.YAMLError as error:
        raise ConfigError(f"--param {text}: ({match['inner']}) is not valid YAML: {error}") from None
    parameter = Parameter(key, form, tuple(values), text)
    (_check_range if parameter.is_range else _check_list)(parameter)
    return parameter


def _check_range(parameter: Parameter) -> None:
    form, values = parameter.form, parameter.values
    kinds = (int,) if form == "integer" else (int, float)
    numbers = [value for value in values if isinstance(value, kinds) and not isinstance(value, bool)]
    if len(values) != 2 or len(numbers) != 2 or not numbers[0] < numbers[1]:
        what = "integers" if form == "integer" else "numbers"
        raise ConfigError(f"--param {parameter.text}: {FORMS[form]} takes two {what}, the lower one first")
    if form == "loguniform" and numbers[0] <= 0:
        raise ConfigError(f"--param {parameter.text}: low is {numbers[0]}; it must be above 0")


def _check_list(parameter: Parameter) -> None:
    written = [json.dumps(value) for value in parameter.values]
    if not written:
        raise ConfigError(f"--param {parameter.text}: {FORMS[parameter.form]} takes at least one value")
    for value in written:
        if written.count(value) > 1:
            raise ConfigError(f"--param {parameter.text}: {value} is given twice")


def draw_trials(parameters: Sequence[Parameter], trials: int | None, seed: int) -> list[Values]:
    """The values of all trials: every combination of the grids, each with values drawn for the others.

    Args:
        parameters: With different keys.
        trials: How many for each combination, no two of them alike; None for 1.
        seed: Of what is drawn.

    Raises:
        ConfigError: There are no such trials.
    """
    _check_keys(parameters)
    grids = [parameter for parameter in parameters if parameter.form == "grid"]
    drawn = [parameter for parameter in parameters if parameter.form != "grid"]
    if trials is not None and trials < 1:
        raise ConfigError(f"--trials is {trials}; it must be at least 1")
    if trials is not None and not drawn:
        raise ConfigError(
            f"--trials is {trials}, but all parameters are grids: their combinations are the trials"
        )
    rng, keys = np.random.default_rng(seed), [parameter.key for parameter in parameters]
    drawn_trials: list[Values] = []
    for combination in product(*(grid.values for grid in grids)):
        fixed = {grid.key: value for grid, value in zip(grids, combination, strict=True)}
        draws = _different_draws(drawn, trials or 1, rng)
        drawn_trials += [{key: (fixed | values)[key] for key in keys} for values in draws]
    return drawn_trials


def _different_draws(parameters: Sequence[Parameter], count: int, rng: np.random.Generator) -> list[Values]:
    found: dict[str, Values] = {}
    for _ in range(_ATTEMPTS * count):
        values = {parameter.key: parameter.draw(rng) for parameter in parameters}
        found.setdefault(json.dumps(values), values)
        if len(found) == count:
            return list(found.values())
    raise ConfigError(f"--trials is {count}, but the parameters have only {len(found)} different values")


def _check_keys(parameters: Sequence[Parameter]) -> None:
    if not parameters:
        raise ConfigError("a sweep needs parameters: --param KEY=FORM")
    for i, one in enumerate(parameters):
        for other in parameters[i + 1 :]:
            if f"{one.key}.".startswith(f"{other.key}.") or f"{other.key}.".startswith(f"{one.key}."):
                raise ConfigError(f"--param {one.text} and {other.text} are about the same key")


def overrides(values: Mapping[str, Any]) -> list[str]:
    """What a trial sets, as ``--set`` takes it."""
    return [f"{key}={json.dumps(value)}" for key, value in values.items()]


def check_trials(
    path: Path, settings: Sequence[str], parameters: Sequence[Parameter], trials: Sequence[Values]
) -> None:
    """Finds out before anything begins that a trial would have no valid configuration.

    Args:
        path: Of the configuration that is common to all trials.
        settings: What is to be changed in it, as ``key=value``.
        parameters: What the trials vary; bounds, and what no trial has drawn, must be valid too.
        trials: Their values.

    Raises:
        ConfigError: The message names the parameter or the trial, the value, and what is allowed.
    """
    for values in trials:
        _config(path, settings, parameters, values)
    for parameter in parameters:
        for value in parameter.values:
            tried = float(value) if parameter.form in ("uniform", "loguniform") else value
            _config(path, settings, parameters, trials[0] | {parameter.key: tried})


def _config(
    path: Path, settings: Sequence[str], parameters: Sequence[Parameter], values: Values
) -> RunConfig:
    try:
        return load_config(path, [*settings, *overrides(values)])
    except ConfigError as error:
        message = str(error)
    named = False
    for parameter in parameters:
        source = f"--set {overrides({parameter.key: values[parameter.key]})[0]}"
        named = named or source in message
        message = message.replace(source, f"--param {parameter.text}")
    raise ConfigError(message if named else f"{message} (in the trial with {', '.join(overrides(values))})")

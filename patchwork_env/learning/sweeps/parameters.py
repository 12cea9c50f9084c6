"""The parameters of a sweep: keys of the configuration, each with the values that trials may have."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log, prod
from pathlib import Path
from typing import Any

import numpy as np

from patchwork_env.core.documents import one_line
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config import RunConfig, check_memory, load_config, parse_yaml
from patchwork_env.learning.config.messages import source_of

Values = dict[str, Any]
"""The values that a trial sets, by full key."""

FORMS = {
    "choice": "choice(a, b, ...)",
    "grid": "grid(a, b, ...)",
    "uniform": "uniform(low, high)",
    "loguniform": "loguniform(low, high)",
    "integer": "integer(low, high)",
}
"""The forms in which the values of a parameter are given."""

_ASSIGNMENT = re.compile(r"\s*(?P<key>[\w.]+)\s*=\s*(?P<form>\w+)\s*\((?P<inner>.*)\)\s*", re.DOTALL)
_FIXED = {
    "evaluation": "trials are compared by their evaluations",
    "game": "trials are compared by their evaluations",
    "cluster": "trials have no workers of their own",
    "threads": "each trial takes as many processors",
    "device": "each trial takes as many processors",
    "description": "it changes nothing",
}
"""The sections and keys that cannot vary, each with the reason."""
_DIGITS = 4
"""Number of significant digits of drawn numbers, so that people can read them."""
MOST_TRIALS = 10_000
"""The most trials of a sweep."""
_LARGEST = 1e15
"""The largest bound of a range."""
_ATTEMPTS = 1000
"""Number of attempts per trial to draw values that no other trial has."""


@dataclass(frozen=True)
class Parameter:
    """A key of the configuration and the values that it may have.

    Attributes:
        key: The full name of the key.
        form: The form of the values, a key of :data:`FORMS`.
        values: All values of a choice or a grid, or the lowest and the highest value.
        text: The text in which the user gave the parameter.
    """

    key: str
    form: str
    values: tuple[Any, ...]
    text: str

    @property
    def is_range(self) -> bool:
        """Whether ``values`` are the lowest and the highest value."""
        return self.form not in ("choice", "grid")

    def draw(self, rng: np.random.Generator) -> Any:
        """Draws a value."""
        if not self.is_range:
            return self.values[rng.integers(len(self.values))]
        low, high = self.values
        if self.form == "integer":
            return int(rng.integers(low, high, endpoint=True))
        drawn = rng.uniform(low, high) if self.form == "uniform" else exp(rng.uniform(log(low), log(high)))
        return min(max(float(f"{drawn:.{_DIGITS}g}"), float(low)), float(high))


def parse_parameter(text: str) -> Parameter:
    """Parses a parameter as the command takes it, such as ``ppo.learning_rate.start=loguniform(1e-4, 1e-2)``.

    Raises:
        ConfigError: The text is not a parameter, or the key cannot vary; the message says what is allowed.
    """
    match, source = _ASSIGNMENT.fullmatch(text), _source_of(text)
    if match is None or match["form"] not in FORMS:
        raise ConfigError(f"{source}: must be KEY=FORM, where FORM is one of {', '.join(FORMS.values())}")
    key, form = match["key"], match["form"]
    fixed = _FIXED.get(key.partition(".")[0])
    if fixed is not None:
        raise ConfigError(f"{source}: {key} is alike in all trials, for {fixed}; --set it")
    try:
        values = parse_yaml(f"[{match['inner']}]")
    except ValueError as error:
        raise ConfigError(f"{source}: ({one_line(match['inner'])}) is not valid YAML: {error}") from None
    parameter = Parameter(key, form, tuple(values), text)
    (_check_range if parameter.is_range else _check_list)(parameter)
    return parameter


def _check_range(parameter: Parameter) -> None:
    form, values, source = parameter.form, parameter.values, _source_of(parameter.text)
    kinds = (int,) if form == "integer" else (int, float)
    numbers = [value for value in values if isinstance(value, kinds) and not isinstance(value, bool)]
    if not all(abs(number) <= _LARGEST for number in numbers):
        raise ConfigError(f"{source}: numbers from {-_LARGEST:g} to {_LARGEST:g} are allowed")
    if len(values) != 2 or len(numbers) != 2 or not numbers[0] < numbers[1]:
        what = "integers" if form == "integer" else "numbers"
        raise ConfigError(f"{source}: {FORMS[form]} takes two {what}, the lower one first")
    if form == "loguniform" and numbers[0] <= 0:
        raise ConfigError(f"{source}: low is {numbers[0]}; it must be above 0")


def _check_list(parameter: Parameter) -> None:
    source = _source_of(parameter.text)
    try:
        written = [json.dumps(value) for value in parameter.values]
    except TypeError:  # a date, a set or bytes
        raise ConfigError(f"{source}: values are numbers, texts, true, false, null and lists") from None
    if not written:
        raise ConfigError(f"{source}: {FORMS[parameter.form]} takes at least one value")
    for value, count in Counter(written).items():
        if count > 1:
            raise ConfigError(f"{source}: {one_line(value)} is given twice")


def _source_of(text: str) -> str:
    return f"--param {one_line(text)}"


def draw_trials(parameters: Sequence[Parameter], trials: int | None, seed: int) -> list[Values]:
    """Draws the values of all trials: every combination of the grids, with drawn values of the others.

    ``trials`` is the number for each combination, no two of them alike; None for 1.

    Raises:
        ConfigError: There are no parameters, two have the same key, or ``trials`` asks for too few or too
            many.
    """
    _check_keys(parameters)
    grids = [parameter for parameter in parameters if parameter.form == "grid"]
    drawn = [parameter for parameter in parameters if parameter.form != "grid"]
    if trials is not None and not 1 <= trials <= MOST_TRIALS:
        raise ConfigError(f"--trials is {trials}; allowed are 1 to {MOST_TRIALS}")
    if trials is not None and not drawn:
        raise ConfigError(
            f"--trials is {trials}, but all parameters are grids: their combinations are the trials"
        )
    combinations = prod(len(grid.values) for grid in grids)
    if combinations * (trials or 1) > MOST_TRIALS:
        raise ConfigError(
            f"the grids have {combinations:,} combinations, with {trials or 1} trials each; "
            f"allowed are {MOST_TRIALS:,} trials in all"
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
                raise ConfigError(f"{_source_of(one.text)} and {one_line(other.text)} are about the same key")


def overrides(values: Mapping[str, Any]) -> list[str]:
    """The values of a trial in the form that ``--set`` takes."""
    return [f"{key}={json.dumps(value)}" for key, value in values.items()]


def check_trials(
    path: Path, settings: Sequence[str], parameters: Sequence[Parameter], trials: Sequence[Values]
) -> None:
    """Checks, before anything begins, that every trial has a valid configuration.

    Args:
        path: The configuration that all trials share.
        settings: Changes to it, each as ``key=value``.
        parameters: The parameters, whose bounds and values that no trial has drawn must be valid as well.
        trials: The values of every trial.

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
        return check_memory(load_config(path, [*settings, *overrides(values)]))
    except ConfigError as error:
        message = str(error)
    named = False
    for parameter in parameters:
        source = source_of(overrides({parameter.key: values[parameter.key]})[0])
        named = named or source in message
        message = message.replace(source, _source_of(parameter.text))
    raise ConfigError(message if named else f"{message} (in the trial with {', '.join(overrides(values))})")

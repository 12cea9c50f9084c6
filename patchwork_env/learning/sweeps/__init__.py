"""Sweeps: runs of one configuration that differ in some of its values, as trials of an Optuna study."""

FORMS = {
    "choice": "choice(a, b, ...)",
    "grid": "grid(a, b, ...)",
    "uniform": "uniform(low, high)",
    "loguniform": "loguniform(low, high)",
    "integer": "integer(low, high)",
}
"""The forms of the values of a parameter."""
RANDOM, TPE = SAMPLERS = "random", "tpe"
"""Optuna's samplers: values drawn independently, or where those of earlier trials were good."""
OPPONENT = "greedy"
"""The opponent that trials are compared by, if it is one of the configuration's; or else its last one."""

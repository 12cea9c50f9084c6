"""Search for good settings with Optuna.

Start it once per core, or on every machine that shares the folder:

    python examples/optuna_sweep.py sweep --trials 20

All processes take their trials from one study, ``sweep/study.jsonl``. The run of trial 3 is
``sweep/trials/003``, which all commands for runs accept. Trials with weak evaluations end early.
Needs Optuna: ``pip install optuna``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import optuna
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock, JournalStorage

from patchwork_env.learning import toolbox

OPPONENT = "greedy"
"""The opponent by which trials are compared."""


def draw_settings(trial: optuna.Trial) -> list[str]:
    """Draw the values of a trial, each as ``key=value``. Edit this function for your own search."""
    values = {
        "ppo.learning_rate.start": trial.suggest_float("ppo.learning_rate.start", 1e-4, 1e-2, log=True),
        "ppo.epochs": trial.suggest_int("ppo.epochs", 1, 4),
        "reward.margin": trial.suggest_float("reward.margin", 0, 2),
    }
    return [f"{key}={value}" for key, value in values.items()]


def train(trial: optuna.Trial, options: argparse.Namespace) -> float:
    """Train the run of a trial; return its final win rate.

    Raises:
        optuna.TrialPruned: The trial is weaker than others after as many steps.
        KeyboardInterrupt: A signal stopped the run, which has saved a checkpoint.
    """
    settings = ["threads=1", f"evaluation.opponents=[{OPPONENT}]", *options.set, *draw_settings(trial)]
    config = toolbox.load_config(options.config, settings)
    rates: list[float] = []
    with toolbox.new_run(config, options.folder / "trials" / f"{trial.number:03}") as run:

        def report(results: Sequence[toolbox.MatchResult]) -> None:
            rates.append(results[0].win_rate)
            if not run.trainer.is_done:
                trial.report(rates[-1], run.trainer.steps)
                if trial.should_prune():
                    raise optuna.TrialPruned

        run.evaluated = report
        if run.train():
            raise KeyboardInterrupt
    return rates[-1]


def open_study(folder: Path) -> optuna.Study:
    """Open the study of a folder, or create it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = str(folder / "study.jsonl")
    return optuna.create_study(
        storage=JournalStorage(JournalFileBackend(path, JournalFileOpenLock(path))),
        study_name="sweep",
        direction="maximize",
        sampler=optuna.samplers.TPESampler(constant_liar=True),  # processes draw different values
        pruner=optuna.pruners.MedianPruner(n_startup_trials=4),
        load_if_exists=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder of the sweep, new or shared")
    parser.add_argument("--config", default="quick", help="the configuration of all trials (quick)")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="KEY=VALUE", help="changes of it in all trials"
    )
    parser.add_argument("--trials", type=int, default=20, help="end when the study has so many trials (20)")
    options = parser.parse_args()
    study = open_study(options.folder)
    while len(study.get_trials(deepcopy=False)) < options.trials:
        # A trial whose loss diverges fails, and the others go on.
        study.optimize(lambda trial: train(trial, options), n_trials=1, catch=toolbox.DivergenceError)
    if not study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE]):
        raise SystemExit(f"no trial is complete; go on with more --trials than {options.trials}")
    best = study.best_trial
    print(
        f"best of {options.trials}: trial {best.number}, {best.value:.1%} against {OPPONENT}, {best.params}"
    )
    print("The best of many trials was also lucky. Measure it again, on other circles:")
    policy = options.folder / "trials" / f"{best.number:03}" / "final"
    print(f"  patchwork-env evaluate '{policy}' --against {OPPONENT} --games 1000")


if __name__ == "__main__":
    main()

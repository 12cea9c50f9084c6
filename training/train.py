"""Trains a policy by self-play from a configuration; this is how a run goes.

python -m training.train --config configs/quick.yaml
python -m training.train --config configs/ppo.yaml --set ppo.epochs=3 --set seed=1
python -m training.train --resume runs/ppo
python -m training.train --list
python -m training.train --explain ppo

The command makes a run of the configuration, or goes on with one: a trainer, which is to be found in
``patchwork_env/learning/algorithms/NAME/trainer.py``, and a folder for its checkpoints, logs and evaluations.
Then it calls :func:`loop`, which is meant to be changed: anything may be done between two iterations.
``patchwork-env train`` does the same with the loop in ``patchwork_env/learning/runs/training.py``.
"""

from __future__ import annotations

import sys

from patchwork_env.learning.commands.train import main
from patchwork_env.learning.runs.run import Run


def loop(run: Run) -> None:
    """Trains a run to its end."""
    run.evaluate_if_due()  # a resumed run makes up for an evaluation that was cut short
    while not run.trainer.is_done:
        with run.in_one_piece():
            metrics = run.trainer.iterate()  # plays some games and learns from them
            run.log(metrics)
        run.save_if_due()
        run.evaluate_if_due()
    run.finish()


if __name__ == "__main__":
    sys.exit(main(loop=loop))

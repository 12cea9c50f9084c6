"""Trains a policy by self-play from a configuration.

python -m training.train --config configs/quick.yaml
python -m training.train --config configs/ppo.yaml --set ppo.epochs=3 seed=1

The same in Python, which shows how a run goes:

    from pathlib import Path

    from patchwork_env.learning.config import load_config
    from patchwork_env.learning.runs.run import loop, new_run

    config = load_config("quick", ["ppo.epochs=3", "seed=1"])  # defaults, the YAML file, then these changes
    with new_run(config, Path("runs/mine")) as run:  # makes a trainer, and a folder with a checkpoint
        run.train(loop)  # trains to the end, or until a signal stops the run

``loop``, at the top of ``patchwork_env/learning/runs/run.py``, is the training loop: it plays, learns, logs,
saves and evaluates. To do more between two iterations, give ``train`` a function of your own. What
``run.trainer.step()`` does stands in ``patchwork_env/learning/algorithms/NAME/trainer.py``.
"""

from patchwork_env.learning.commands.train import main

if __name__ == "__main__":
    raise SystemExit(main())

"""Trains a policy by self-play from a configuration.

python -m training.train --config configs/quick.yaml
python -m training.train --config configs/ppo.yaml --set ppo.epochs=3 seed=1
python -m training.train --resume runs/ppo
python -m training.train --list
python -m training.train --explain ppo

The same in Python, which shows how a run goes:

    from contextlib import ExitStack
    from pathlib import Path

    from patchwork_env.learning.config import load_config
    from patchwork_env.learning.runs.training import loop, new_run, train

    config = load_config("quick", ["ppo.epochs=3", "seed=1"])  # defaults, the YAML file, then these changes
    with ExitStack() as stack:  # frees the folder and ends the workers when the block ends
        run = new_run(config, Path("runs/mine"), stack)  # makes a trainer, and a folder with a checkpoint
        train(run, loop)  # trains to the end, or until a signal stops the run

``loop``, at the top of ``patchwork_env/learning/runs/training.py``, is the training loop: it plays, learns,
logs, saves and evaluates. To do more between two iterations, give ``train`` a function of your own. What
``run.trainer.step()`` does stands in ``patchwork_env/learning/algorithms/NAME/trainer.py``.
"""

import sys

from patchwork_env.learning.commands.train import main

if __name__ == "__main__":
    sys.exit(main())

"""Train a policy by self-play from a configuration.

python -m training.train --config configs/quick.yaml
python -m training.train --config configs/ppo.yaml --set ppo.epochs=3 seed=1

The same in Python, which shows how a run goes:

    from pathlib import Path

    from patchwork_env.learning import toolbox

    config = toolbox.load_config("quick", ["ppo.epochs=3", "seed=1"])  # the YAML file, then these changes
    with toolbox.new_run(config, Path("runs/mine")) as run:  # makes a trainer, and a folder with a checkpoint
        run.train()  # trains to the end, or until a signal stops the run

``loop``, at the top of ``patchwork_env/learning/runs/run.py``, is the training loop: it plays, learns, logs,
saves and evaluates. ``patchwork_env/learning/algorithms/NAME/trainer.py`` defines ``run.trainer.step()``.
"""

from patchwork_env.learning.commands.train import main

if __name__ == "__main__":
    raise SystemExit(main())

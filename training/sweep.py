"""Trains runs that differ in some values of one configuration, and compares them in one table. Needs Optuna.

python -m training.sweep --config configs/quick.yaml --param 'ppo.epochs=grid(1, 2, 4)'

Every trial is a run as any other, as ``runs/quick-sweep/trials/003``: it can be resumed, reported and played.
"""

from patchwork_env.learning.commands.sweep import main

if __name__ == "__main__":
    raise SystemExit(main())

"""Sweeps: runs of one configuration that differ in some of its values, as trials of an Optuna study."""

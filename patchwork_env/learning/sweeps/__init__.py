"""Sweeps: runs of one configuration that differ in some of its values, with Ray Tune."""

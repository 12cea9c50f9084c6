"""Learning and measuring: algorithms, runs, evaluation, reports, sweeps, and work shared among machines."""

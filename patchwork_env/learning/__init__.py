"""Learning and measuring: algorithms, runs, evaluation, reports, and work shared among machines."""

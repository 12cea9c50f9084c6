"""Pages and pictures of runs, tournaments and games."""

"""Scripts that measure speed and strength, each of which prints a table."""

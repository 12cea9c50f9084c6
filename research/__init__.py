"""Studies: what was found out with the package and is not part of it. Run them from a clone."""

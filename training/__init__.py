"""The commands as scripts, to be run from a clone."""

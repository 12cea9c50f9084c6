"""What compiled networks of any game have in common: records of arrays, sums in registers, files."""

"""Statistics of games of the champion against itself: first player, bonus tile, worth of patches."""

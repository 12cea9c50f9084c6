"""Statistics of games of the champion with itself: who starts, the bonus tile, and what patches are worth."""

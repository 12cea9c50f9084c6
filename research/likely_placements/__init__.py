"""A study of what the champion's search misses among the placements that it does not evaluate."""

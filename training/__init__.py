"""Self-play training and evaluation: commands, and what they share."""

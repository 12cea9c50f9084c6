"""A planner for NMBR 9 when all tiles to come are known: for known decks and freely chosen order."""

"""NMBR 9 with unknown decks: a learned value of tables, compiled, and the agents that play by it."""

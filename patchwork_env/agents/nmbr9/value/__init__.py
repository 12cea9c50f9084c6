"""A learned value of a player's table in NMBR 9, compiled, and the agent that plays by it."""

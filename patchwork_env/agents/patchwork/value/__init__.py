"""A learned value of positions, compiled, and the agents that play by it."""

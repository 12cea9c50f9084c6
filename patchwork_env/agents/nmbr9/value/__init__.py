"""A learned value of tables of NMBR 9, compiled, and the agent that plays by it."""

"""Agents that play NMBR 9."""

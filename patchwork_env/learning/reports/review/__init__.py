"""What an agent thinks of a game that was played: who was ahead when, and which moves cost most."""

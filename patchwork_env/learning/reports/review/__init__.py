"""Reviews of games that were played: who was ahead when, and which moves cost most, judged by an agent."""

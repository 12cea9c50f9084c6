"""What the champion's search at NMBR 9 makes of its evaluations, for several ways to plan rollouts."""

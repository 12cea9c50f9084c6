"""What the champion's search at NMBR 9 makes of its effort, for several ways to plan rollouts."""

"""A study of the champion's search at NMBR 9, for several ways to plan rollouts."""

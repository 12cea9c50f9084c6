"""What several algorithms have in common.

trainer           what a run sees of an algorithm, and how it is saved and restored
gradients         a minibatch shared among threads
advantages        rewards for the end of a game, and advantages of decisions
league            past selves as opponents
workers           trainers whose games are played by workers
"""

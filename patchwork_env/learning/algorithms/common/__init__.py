"""Parts that several algorithms share.

trainer           the interface of an algorithm for runs, and its stored state
gradients         a minibatch shared among threads
advantages        rewards for the end of a game, and advantages of decisions
league            past selves as opponents
workers           trainers whose games workers can play
"""

"""What several algorithms have in common.

trainer, state                 what a run sees of an algorithm, and how it is saved and restored
threads, gradients             a minibatch shared among threads
batches                        games divided into parts
advantages, rewards            advantages of decisions, and rewards for the end of a game
league                         past selves as opponents
remote_trainer, remote_play    trainers whose games are played by workers
value_trainer and so on        learning a compiled value
"""

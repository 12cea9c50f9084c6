"""What several algorithms have in common.

trainer, state             what a run sees of an algorithm, and how it is saved and restored
threads, gradients         a minibatch shared among threads
batches                    games dealt out in parts
advantages, rewards        what decisions and the ends of games are worth
league                     past selves as opponents
remote_trainer, remote_play    trainers whose games are played by workers
value_trainer, value_learner, value_self_play, row_sums    learning a compiled value
"""

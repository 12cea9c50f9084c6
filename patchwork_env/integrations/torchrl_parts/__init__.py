"""What :mod:`patchwork_env.integrations.torchrl` is made of.

games         batches of games that begin when asked to
env, specs    the environment over them, and its action spec
advantages    generalized advantage estimation that knows whose turn it is
"""

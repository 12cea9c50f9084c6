"""What :mod:`patchwork_env.integrations.open_spiel` is made of.

nodes, settings     positions that copies of a state share; what the parameters of a game say
base, observer      games and states of OpenSpiel over the rules of any game; what players see of them
patchwork, nmbr9    the parameters of each game, what chance decides in it, and what its players know
bots                agents as bots of OpenSpiel, and its bots as agents
"""

"""Levels for people: opponents that make mistakes like people do, from beginner to expert.

`levels` judges moves by the learned value and decides which moves a player of a level overlooks; the rules
shared with NMBR 9 are in :mod:`patchwork_env.agents.partner`.
"""

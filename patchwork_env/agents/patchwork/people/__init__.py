"""Difficulty levels: opponents that make mistakes as people do, from beginner to expert.

`levels` evaluates moves by simple rules or by the learned value. The mistakes, which both games share, are in
:mod:`patchwork_env.agents.partner`.
"""

"""Levels for people: weaker ways to play, by mistakes that people make.

- :mod:`~patchwork_env.agents.patchwork.partner.levels`: what each level sees, misses and gets wrong;
- :mod:`~patchwork_env.agents.patchwork.partner.eye`: how beginners judge a move, without a learned value;
- :mod:`~patchwork_env.agents.patchwork.partner.experience`: how the others do, with it;
- :mod:`~patchwork_env.agents.patchwork.partner.decision`: which of the judged moves is played;
- :mod:`~patchwork_env.agents.patchwork.partner.player`: the levels, ready to play.
"""

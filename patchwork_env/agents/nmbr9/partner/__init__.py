"""Levels for people: weaker ways to play, by mistakes that people make.

- :mod:`~patchwork_env.agents.nmbr9.partner.levels`: what each level sees, misses and gets wrong;
- :mod:`~patchwork_env.agents.nmbr9.partner.judgement`: how placements are judged, by eye or with experience;
- :mod:`~patchwork_env.agents.nmbr9.partner.decision`: which of the judged placements is played;
- :mod:`~patchwork_env.agents.nmbr9.partner.player`: the levels, ready to play.
"""

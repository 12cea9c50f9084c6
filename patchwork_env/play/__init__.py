"""A page in the browser to play and analyse on, and the server behind it; needs the extra ``play``.

- :mod:`~patchwork_env.play.command`: ``patchwork-env play``;
- :mod:`~patchwork_env.play.server` and :mod:`~patchwork_env.play.doors`: what is served, and to whom;
- :mod:`~patchwork_env.play.messages`: the messages of the page, checked;
- :mod:`~patchwork_env.play.answers`: what each message is answered with;
- :mod:`~patchwork_env.play.positions` and :mod:`~patchwork_env.play.components`: what the page knows of
  a game;
- :mod:`~patchwork_env.play.players`, :mod:`~patchwork_env.play.thinking` and
  :mod:`~patchwork_env.play.streams`: agents that move and analyse, in threads;
- :mod:`~patchwork_env.play.analyses`: what they find;
- ``page/``: the page itself.

The server keeps nothing of a game: every message holds the whole game in notation.
"""

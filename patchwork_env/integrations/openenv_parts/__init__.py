"""What :mod:`patchwork_env.integrations.openenv` is made of.

messages       what client and server tell each other
environment    one session: an :class:`~patchwork_env.integrations.text.episode.Episode` behind the interface
app, doors     the application, and what it does not let in
client         the client
command        ``patchwork-env openenv``
"""

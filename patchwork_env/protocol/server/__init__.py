"""``patchwork-env engine``: the agents of this package, asked by lines of JSON on stdin, answered on stdout.

- :mod:`~patchwork_env.protocol.server.queries`: what can be asked, and how it is checked;
- :mod:`~patchwork_env.protocol.server.tasks`: positions that agents think about, in threads;
- :mod:`~patchwork_env.protocol.server.engine`: what each query is answered with;
- :mod:`~patchwork_env.protocol.server.loop`: from one stream to another, until the first one ends;
- :mod:`~patchwork_env.protocol.server.command`: the command.
"""

"""Lines of JSON between programs about games; ``docs/engine.md`` describes them.

- :mod:`~patchwork_env.protocol.messages`: messages, read and checked;
- :mod:`~patchwork_env.protocol.programs`: programs that read and write lines, and their end;
- :mod:`~patchwork_env.protocol.client`: a client, which starts such a program and asks it;
- :mod:`~patchwork_env.protocol.server`: ``patchwork-env engine``, such a program.
"""

"""Lines of JSON between programs about games.

- :mod:`~patchwork_env.protocol.messages`: messages, read and checked.
"""

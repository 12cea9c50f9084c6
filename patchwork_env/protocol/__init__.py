"""Lines of JSON between programs about games, as ``docs/engine.md`` describes them.

``client`` starts such a program and asks it; ``command`` is such a program, ``patchwork-env engine``.
"""

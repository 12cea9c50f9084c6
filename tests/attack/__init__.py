"""Attacks: random attempts to break the package, as many as there is time for.

``python -m tests.attack`` runs them, see :mod:`tests.attack.__main__`. Every module of this package that has
``ATTACKS`` takes part, see :mod:`tests.attack.frame`. Attacks import heavy libraries only when they run, as
all modules are imported to list them.
"""

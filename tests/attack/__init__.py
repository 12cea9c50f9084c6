"""Attacks: random attempts to break the package.

``make test-attack ATTACK_ATTEMPTS=200 ATTACK='positions or specs'`` makes many attempts of some attacks, and
``ATTACK=specs-5 ATTACK_SEED=1`` repeats one. An input is withstood if it is refused with the documented
error, or if its result is sound. ``MODULES`` of ``test_attacks`` lists the modules.

``ATTACKS`` of a module names its attacks, functions of a random generator that raise an error if something
broke. Names in ``SLOW`` get a tenth of the attempts. Attacks import heavy libraries when they run,
since all modules are imported to list them.
"""

"""Whole games of everything with bounds checks in all compiled code: ``make test-bounds``.

Kernels check no bounds, so that an index beyond an array would read or write other memory unseen. With
Numba's checks on, it is an IndexError, here with every environment, agent and trainer, and from states at the
limits of what is let in. The machine code needs a folder of its own, ``NUMBA_CACHE_DIR``.
"""

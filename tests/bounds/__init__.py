"""Whole games of everything with bounds checks in all compiled code: ``make test-bounds``.

Kernels check no bounds, so an index beyond an array would read or write other memory without an error. With
Numba's checks it is an IndexError. The tests run every environment, agent and trainer, also from states at
the limits of the validation. The machine code needs another folder, ``NUMBA_CACHE_DIR``.
"""

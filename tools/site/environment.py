"""Settings of Numba, which it reads when it is imported."""

from __future__ import annotations

ENVIRONMENT = {
    "NUMBA_OPT": "0",
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_LOOP_VECTORIZE": "0",
    "NUMBA_SLP_VECTORIZE": "0",
}
"""The environment that Numba must find at its import: code is optimised later, for WebAssembly."""

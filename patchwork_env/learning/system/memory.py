"""A setting of the allocator that makes training on the CPU faster."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4  # malloc.h of glibc
_KEEP = 2**31 - 1
_GROW_BY = 256 * 2**20


def keep_freed_memory() -> None:
    """Makes glibc keep the memory that tensors free, for the next tensors.

    By default glibc returns large blocks to the system and gets them back page by page, each with a page
    fault, which takes a third of the time of training on the CPU. This does nothing where there is no glibc.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for parameter, value in ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, _KEEP), (_M_TOP_PAD, _GROW_BY)):
        mallopt(parameter, value)

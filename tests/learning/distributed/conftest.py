"""Tests of clusters learn on one thread, as runs do: what PyTorch computes depends on its threads."""

from __future__ import annotations

from tests.one_thread import _one_thread as _one_thread

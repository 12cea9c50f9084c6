"""Tests of training run on one core, as other tests do."""

from __future__ import annotations

from tests.one_thread import _one_thread as _one_thread

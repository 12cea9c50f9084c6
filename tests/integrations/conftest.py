"""What the tests of other libraries share."""

from __future__ import annotations

from tests.one_thread import _one_thread as _one_thread

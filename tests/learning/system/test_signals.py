"""Requests to stop that wait for the end of a block."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest
from numba import njit
from numba.extending import overload

from patchwork_env.learning.system import signals as signals_module
from patchwork_env.learning.system.signals import Interruption, signals_interrupt, signals_wait


def send():
    os.kill(os.getpid(), signal.SIGTERM)


def interruption_of(signals):
    """How signals end a block that waits for its end, and whether it got there; the last comes behind it."""
    done = False
    with signals_interrupt():
        try:
            with signals_wait():
                for _ in range(signals - 1):
                    send()
                done = True
        except Interruption as interruption:
            send()
            return interruption, done
    raise AssertionError("no signal has come through")


def test_the_echo_of_a_signal_is_no_second_one_and_a_third_disturbs_nobody(monkeypatch):
    interruption, done = interruption_of(3)
    assert interruption.signal == signal.SIGTERM
    assert (done, interruption.at_once) == (True, False)
    monkeypatch.setattr(signals_module, "_ECHO_SECONDS", -1.0)
    interruption, done = interruption_of(3)
    assert (done, interruption.at_once) == (False, True)


def test_other_threads_than_the_main_one_leave_signals_alone():
    def work():
        with signals_interrupt(), signals_wait():
            return signal.getsignal(signal.SIGTERM)

    with ThreadPoolExecutor() as pool:
        assert pool.submit(work).result() is signal.getsignal(signal.SIGTERM)


def is_interrupted_behind(call):
    """Whether a signal that comes within a call takes effect, but not before the call is done."""
    done = False
    with signals_interrupt():
        try:
            call()
            done = True
            time.sleep(10)
        except Interruption:
            return done
    return False


@pytest.fixture
def asking(tmp_path, monkeypatch):
    """A module during whose import a signal comes."""
    (tmp_path / "asks.py").write_text("import os, signal\n\nos.kill(os.getpid(), signal.SIGTERM)\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "asks"
    sys.modules.pop("asks", None)


def test_a_signal_during_an_import_takes_effect_behind_it(asking):
    assert is_interrupted_behind(lambda: import_module(asking))


def test_a_signal_that_is_put_off_to_the_end_of_the_block_goes_to_the_next_handler(asking, monkeypatch):
    monkeypatch.setattr(signals_module, "_AGAIN_SECONDS", 60.0)
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with signals_interrupt():
            import_module(asking)
            assert not seen
        assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not any(isinstance(thread, threading.Timer) for thread in threading.enumerate())


def test_a_program_that_is_run_by_an_import_is_interrupted_at_once(tmp_path, monkeypatch):
    program = """
import os, signal
from patchwork_env.learning.system.signals import signals_interrupt

with signals_interrupt():
    os.kill(os.getpid(), signal.SIGTERM)
    raise AssertionError("no signal has come through")
"""
    (tmp_path / "program.py").write_text(program)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Interruption, match="SIGTERM"):
        import_module("program")


def test_a_signal_during_a_compilation_takes_effect_behind_it():
    def plus_one(number):
        return number + 1

    @overload(plus_one)
    def _(number):
        send()  # Numba calls this while it compiles
        return plus_one

    assert is_interrupted_behind(njit(lambda: plus_one(1)))

"""Requests to stop that wait for the end of a block."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from training import signals as signals_module
from training.signals import Interruption, signals_interrupt, signals_wait


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


def test_the_echo_of_a_signal_is_no_second_one():
    interruption, done = interruption_of(3)
    assert done
    assert interruption.signal == signal.SIGTERM
    assert not interruption.at_once


def test_a_third_signal_disturbs_nobody(monkeypatch):
    monkeypatch.setattr(signals_module, "_ECHO_SECONDS", -1.0)
    interruption, done = interruption_of(3)
    assert not done
    assert interruption.at_once


def test_a_block_sees_a_signal_that_waits():
    seen = []

    def work():
        with signals_wait() as waiting:
            seen.append(waiting.number)
            send()
            seen.append(waiting.number)

    with signals_interrupt(), pytest.raises(Interruption, match="SIGTERM"):
        work()
    assert seen == [None, signal.SIGTERM]


def test_other_threads_than_the_main_one_leave_signals_alone():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def work():
        with signals_interrupt(), signals_wait():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]

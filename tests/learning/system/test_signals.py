"""Signals that take effect between two steps."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from patchwork_env.learning import system as signals_module
from patchwork_env.learning.system import Interruption, signals_interrupt, stop_if_asked


def send():
    os.kill(os.getpid(), signal.SIGTERM)


def interruption_of(signals):
    """The interruption of a block by signals, and whether its work was done; the last comes after it."""
    done = False
    with signals_interrupt():
        stop_if_asked()
        try:
            for _ in range(signals - 1):
                send()
            done = True
            stop_if_asked()
        except Interruption as interruption:
            send()
            return interruption, done
    raise AssertionError("no signal has come through")


def test_the_echo_of_a_signal_and_a_signal_after_the_interruption_are_ignored():
    interruption, done = interruption_of(3)
    assert interruption.signal == signal.SIGTERM
    assert (done, interruption.at_once) == (True, False)


def test_a_second_signal_and_each_further_one_stops_at_once(monkeypatch):
    monkeypatch.setattr(signals_module, "_ECHO_SECONDS", -1.0)
    with signals_interrupt():
        send()
        for _ in range(2):
            with pytest.raises(Interruption) as caught:
                send()
            assert caught.value.at_once
        stop_if_asked()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signal")
def test_a_closed_terminal_counts_unless_it_is_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_interrupt():
            os.kill(os.getpid(), signal.SIGHUP)
            stop_if_asked()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with signals_interrupt():
            os.kill(os.getpid(), signal.SIGHUP)
            with pytest.raises(Interruption, match="SIGHUP"):
                stop_if_asked()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_than_the_main_one_leave_signals_alone():
    def work():
        with signals_interrupt():
            return signal.getsignal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with ThreadPoolExecutor() as pool:
        assert pool.submit(work).result() is before
        with signals_interrupt():
            send()
            pool.submit(stop_if_asked).result()
            with pytest.raises(Interruption):
                stop_if_asked()


def test_a_signal_that_comes_too_late_goes_to_the_next_handler():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with signals_interrupt():
            send()
            assert not seen
        assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)

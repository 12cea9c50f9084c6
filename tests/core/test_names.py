"""Misspelt names are answered with the nearest one."""

import numpy as np

from patchwork_env.core.messages import reason_of
from patchwork_env.core.names import aligned, counted, did_you_mean, nearest, short_repr


def test_the_nearest_name():
    assert nearest("thread", ("seed", "threads")) == "threads"
    assert nearest("colour", ("seed", "threads")) is None
    assert did_you_mean("thread", ("seed", "threads")) == "did you mean 'threads'?"
    assert did_you_mean("colour", ("seed", "threads")) == "allowed are 'seed', 'threads'"
    assert nearest("s" * 10**7, ("seed",)) is None


def test_every_value_can_be_shown():
    assert short_repr(np.zeros((2, 2), int)) == "array([[0, 0], [0, 0]])"
    assert len(short_repr("a" * 10**6)) == 61
    assert short_repr("a/" * 100, most=300) == repr("a/" * 100)
    assert short_repr(10**5000) == "a value of type int"


def test_numbers_with_what_they_count():
    assert [counted(number, "game") for number in (0, 1, 2000)] == ["0 games", "1 game", "2,000 games"]


def test_columns_are_aligned():
    assert aligned([("a", "10", "b"), ("bcd", "2", "cd")], left=(0, 2)) == ["a    10  b", "bcd   2  cd"]


def test_errors_without_a_sentence_are_given_with_their_type():
    errors = (ValueError("no game"), ValueError(), KeyError("a"))
    assert list(map(reason_of, errors)) == ["no game", "ValueError: ", "KeyError: 'a'"]

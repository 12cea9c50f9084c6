"""Errors of sections that are made by a call, as users of the toolbox make them."""

import pytest
from pydantic import ValidationError

from patchwork_env.core.sections import Section


class Reward(Section):
    outcome: float = 1.0
    margin: float = 0.0


class Run(Section):
    reward: Reward = Reward()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"outcom": 1.0}, "Reward has no key 'outcom'; did you mean 'outcome'?"),
        ({"win": 1.0}, "Reward has no key 'win'; allowed are 'outcome', 'margin'"),
        ({"outcome": "1"}, "outcome of Reward is '1': Input should be a valid number"),
    ],
)
def test_a_call_names_the_key_the_value_and_what_is_allowed(values, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the message is compared as a whole
        Reward(**values)
    assert str(error.value) == message


def test_sections_of_files_keep_the_place_of_a_problem():
    with pytest.raises(ValidationError) as error:
        Run.model_validate({"reward": {"outcom": 1.0}})
    assert error.value.errors()[0]["loc"] == ("reward", "outcom")

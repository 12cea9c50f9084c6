"""Messages about libraries that are missing."""

import pytest

from patchwork_env.core.extras import from_extra
from patchwork_env.errors import MissingExtraError


@pytest.mark.parametrize(("module", "project"), [("no_such_a.part", "no-such-a"), ("PIL", "pillow")])
def test_the_missing_library_of_an_extra_is_named(module, project):
    with pytest.raises(MissingExtraError) as caught, from_extra("train", "these need"):
        raise ModuleNotFoundError(name=module)
    library = module.partition(".")[0]
    assert str(caught.value) == f"these need {library}: pip install {project}, or the extra 'train'"
    assert caught.value.name == module


def test_an_error_that_names_an_extra_stays_as_it_is():
    error = MissingExtraError("named already")
    with pytest.raises(MissingExtraError) as caught, from_extra("train", "these need"):
        raise error
    assert caught.value is error


def test_without_an_extra_errors_stay_as_they_are():
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such'"), from_extra("", "they need"):
        __import__("no_such")

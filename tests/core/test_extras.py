"""Messages about libraries that are missing."""

from importlib import metadata

import pytest

from patchwork_env.core.extras import for_command, from_extra
from patchwork_env.errors import MissingExtraError

REQUIRED = ["numpy>=1", "no-such-a[x,y]<3,>=2; extra == 'train'", 'no-such-b>=1 ; extra == "open-spiel"']


@pytest.fixture(autouse=True)
def listed(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: REQUIRED)


@pytest.mark.parametrize(("module", "project"), [("no_such_a.part", "no-such-a"), ("PIL", "pillow")])
def test_the_missing_library_of_an_extra_is_named(module, project):
    with pytest.raises(MissingExtraError) as caught, from_extra("train", "these need"):
        raise ModuleNotFoundError(name=module)
    assert (
        str(caught.value)
        == f"these need {module.partition('.')[0]}: pip install {project}, or the extra 'train'"
    )
    assert caught.value.name == module


@pytest.mark.parametrize("module", ["no_such_a", "no_such_b"])
def test_a_command_names_a_missing_library_of_its_extras(module):
    with pytest.raises(MissingExtraError, match=f"it needs {module}: "), for_command("train,open_spiel"):
        raise ModuleNotFoundError(name=module)


@pytest.mark.parametrize("error", [ModuleNotFoundError(name="module_of_a_user"), MissingExtraError("told")])
def test_other_errors_of_a_command_stay_as_they_are(error):
    with pytest.raises(ModuleNotFoundError) as caught, for_command("train"):
        raise error
    assert caught.value is error


def test_without_an_extra_errors_stay_as_they_are():
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such'"), from_extra("", "they need"):
        __import__("no_such")

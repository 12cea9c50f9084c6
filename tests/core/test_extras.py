"""What is said of libraries that are missing."""

from importlib import metadata

import pytest

from patchwork_env.core.extras import for_command, from_extra
from patchwork_env.errors import MissingExtraError

REQUIRED = ["numpy>=1", "pyyaml>=6; extra == 'train'", "no-such-a[x,y]<3,>=2; extra == 'train'"]
REQUIRED += ['no-such-b>=1 ; extra == "train"', "no-such-c; extra == 'open-spiel'"]


@pytest.fixture(autouse=True)
def listed(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: REQUIRED)


@pytest.mark.parametrize(
    ("extra", "module", "libraries"),
    [
        ("train", "other", "'no-such-a[x,y]' no-such-b"),
        ("train", "no_such_b.part", "no-such-b"),
        ("open_spiel", "other", "no-such-c"),
        ("unknown", "no_such_module", "no-such-module"),
    ],
)
def test_the_missing_libraries_of_an_extra_are_named(extra, module, libraries):
    with pytest.raises(MissingExtraError) as caught, from_extra(extra, "these need"):
        raise ModuleNotFoundError(name=module)
    assert str(caught.value) == f"these need {module.partition('.')[0]}: pip install {libraries}"
    assert caught.value.name == module


def test_a_command_names_all_that_it_lacks_and_nothing_else():
    said = r"it needs no_such_b: pip install .*'no-such-a\[x,y\]' no-such-b no-such-c$"
    for kind in (ModuleNotFoundError, MissingExtraError):
        with pytest.raises(MissingExtraError, match=said), for_command("train,open_spiel"):
            raise kind("agents need no_such_b", name="no_such_b")
    own, told = ModuleNotFoundError(name="module_of_a_user"), MissingExtraError("told", name="no_such_c")
    for error in (own, told):
        with pytest.raises(ModuleNotFoundError) as caught, for_command("train"):
            raise error
        assert caught.value is error


def test_without_an_extra_errors_stay_as_they_are():
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such'"), from_extra("", "they need"):
        __import__("no_such")

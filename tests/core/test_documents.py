"""Reading JSON that may be damaged."""

from __future__ import annotations

import pytest

from patchwork_env.core.documents import parse_json


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1" + "0" * 5000 + "]", "file is damaged: an integer in it has thousands of digits"),
        ("[" * 10**5, "file is damaged: its lists and objects are nested too deeply"),
        ('{"a": 1, "a": 2}', "file is damaged: the key 'a' appears twice"),
        ("[1e999]", "file is damaged: '1e999' is no finite number"),
        ("[1,", "file is damaged: Expecting value: line 1 column 4"),
    ],
)
def test_what_is_wrong_is_told_in_words(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_json(text, "file")

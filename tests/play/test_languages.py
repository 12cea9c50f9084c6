"""The texts of the page: every language has all texts, in all its plural forms."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import patchwork_env

PAGE = Path(patchwork_env.__file__).parent / "play" / "page"
PLURALS = {language: {"one", "other"} for language in ("en", "fa", "hi")}
PLURALS |= {language: {"one", "few", "many", "other"} for language in ("pl", "ru")}
"""The categories of ``Intl.PluralRules`` in each language of the page."""
_CATEGORIES = {"zero", "one", "two", "few", "many", "other"}


def texts_of(language):
    """Return all texts of a language by their paths."""
    text = (PAGE / "languages" / f"{language}.json").read_text(encoding="utf-8")
    return dict(_texts(json.loads(text), ""))


def _texts(tree, path):
    for name, value in tree.items():
        here = f"{path}.{name}".lstrip(".")
        if isinstance(value, str):
            yield here, {"": value}
        elif value and set(value) <= _CATEGORIES:
            yield here, value
        else:
            yield from _texts(value, here)


def placeholders(forms):
    """Return the placeholders of a text in all its forms."""
    return {name for form in forms.values() for name in re.findall(r"\{(\w+)\}", form)}


ENGLISH = texts_of("en")


def test_the_page_offers_these_languages():
    source = (PAGE / "js" / "language.js").read_text(encoding="utf-8")
    offered = re.search(r"LANGUAGES = \{(.*?)\}", source)
    assert offered
    assert set(re.findall(r"(\w+):", offered[1])) == set(PLURALS)
    assert {path.stem for path in (PAGE / "languages").glob("*.json")} == set(PLURALS)


@pytest.mark.parametrize("language", sorted(PLURALS))
def test_every_language_has_the_same_texts_in_all_forms_of_numbers(language):
    texts = texts_of(language)
    assert set(texts) == set(ENGLISH)
    for path, forms in texts.items():
        assert placeholders(forms) == placeholders(ENGLISH[path]), path
        if "" not in ENGLISH[path]:
            assert set(forms) == PLURALS[language], path
        for category, form in forms.items():
            assert form.strip(), f"{path}: {category}"


def test_texts_that_the_page_asks_for_exist():
    """Only names that are literals in the source; tests in the browser cover the others."""
    asked: dict[str, str] = {}
    for file in [*(PAGE / "js").rglob("*.js"), PAGE / "index.html"]:
        source = file.read_text(encoding="utf-8")
        for name in re.findall(r"(?:\bt\(|data-t(?:-\w+)?=)\"([\w.]+)\"", source):
            asked[name] = file.name
    assert asked
    assert {name: file for name, file in asked.items() if name not in ENGLISH} == {}


@pytest.mark.parametrize("language", sorted(PLURALS))
def test_rules_are_there_in_every_language(language):
    rules = (PAGE / "rules" / f"{language}.html").read_text(encoding="utf-8")
    drawings = (PAGE / "rules" / "drawings.svg").read_text(encoding="utf-8")
    source = (PAGE / "js" / "language.js").read_text(encoding="utf-8")
    from_right = re.findall(r'"(\w+)"', source.partition("RIGHT_TO_LEFT = ")[2].partition(";")[0])
    assert f'<html lang="{language}" dir="{"rtl" if language in from_right else "ltr"}">' in rules
    for other in PLURALS:
        assert f'href="{other}.html"' in rules
    used = re.findall(r'href="drawings\.svg#(\w+)"', rules)
    assert used
    assert all(f'<g id="{name}">' in drawings for name in used)

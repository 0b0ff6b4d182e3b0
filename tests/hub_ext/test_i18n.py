"""Words in other languages: which one is spoken, what stays as it is, and translations that fit."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from hub_ext.i18n import catalogue
from tests.support.lab_words import lists, said, words

ROOT = Path(__file__).parents[2]
CATALOGUES = sorted((ROOT / "hub_ext/locale").glob("*/LC_MESSAGES/*.po"))
FILLED_IN = re.compile(r"\{[^{}]*\}|%\([a-z_]+\)[a-z]|%\d|`[^`]*`")


def test_english_is_spoken_where_no_other_language_is_there() -> None:
    for environment in ({}, {"LANG": "C.UTF-8"}, {"LANGUAGE": "xx:yy"}, {"LANG": ""}):
        assert catalogue(environment).gettext("{n} GPUs free") == "{n} GPUs free"


def test_the_made_up_language_marks_what_can_be_translated_and_keeps_what_is_filled_in() -> None:
    made_up = catalogue({"LANGUAGE": "en_XA"})
    assert made_up.gettext("{n} GPUs are free") == "⟦{n} GPÚš áré fréé⟧"
    assert made_up.gettext("run `gpu-commons check`") == "⟦rúñ `gpu-commons check`⟧"
    assert made_up.ngettext("{n} GPU", "{n} GPUs", 2) == "⟦{n} GPÚš⟧"


def test_a_command_speaks_the_language_of_whoever_calls_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hub_ext", "check", "/nowhere/policy.yaml"],
        env={"LANGUAGE": "en_XA"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "⟦" in done.stdout + done.stderr


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parents[1].name)
def test_a_translation_fills_in_what_its_text_fills_in(path: Path) -> None:
    with path.open("rb") as file:
        found = list(read_po(file))
    wrong = []
    for message in found:
        texts = [message.id] if isinstance(message.id, str) else list(message.id)
        told = [message.string] if isinstance(message.string, str) else list(message.string or ())
        wanted = [sorted(set(FILLED_IN.findall(text))) for text in texts]
        wrong += [one for one in told if one and sorted(set(FILLED_IN.findall(one))) not in wanted]
    assert wrong == []


@pytest.mark.parametrize("language", sorted(lists()))
def test_the_panels_words_are_those_of_the_sources_and_fill_in_the_same(language: str) -> None:
    known = words(lists()[language])
    assert set(known) <= set(said())
    wrong = [
        one
        for text, one in known.items()
        if not one or sorted(FILLED_IN.findall(text)) != sorted(FILLED_IN.findall(one))
    ]
    assert wrong == []

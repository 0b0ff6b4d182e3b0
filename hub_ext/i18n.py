"""Gettext for every word a person may read. Strings are literal; figures come by `.format`.

The language is the process's own (`LANGUAGE`, `LC_ALL`, `LC_MESSAGES`, `LANG`): what is recorded is
read by many, so one site speaks one language. `LANGUAGE=en_XA` marks all that can be translated.
"""

import gettext as _gettext
import os
import re
from collections.abc import Mapping
from pathlib import Path

PSEUDO = "en_XA"
"""The made-up language in which every translatable word looks foreign, and stays readable."""

_ASKED = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
_KEPT = re.compile(r"(\{[^}]*\}|%\([^)]*\)[a-z]|`[^`]*`|<[^>]*>)")
_FOREIGN = str.maketrans("aeiouAEIOUcnsz", "áéíóúÁÉÍÓÚçñšž")


class _Pseudo(_gettext.NullTranslations):
    """Every word in brackets and with accents; what is filled in, and markup, as it is."""

    def gettext(self, message: str) -> str:
        parts = _KEPT.split(message)
        told = (part if i % 2 else part.translate(_FOREIGN) for i, part in enumerate(parts))
        return f"⟦{''.join(told)}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


def catalogue(environment: Mapping[str, str]) -> _gettext.NullTranslations:
    """Find the words of the first language that is asked for and there; else English."""
    asked = next((environment[name] for name in _ASKED if environment.get(name)), "")
    languages = [language for language in asked.split(":") if language]
    if languages[:1] == [PSEUDO]:
        return _Pseudo()
    folder = Path(__file__).parent / "locale"
    return _gettext.translation("gpu_commons", folder, languages or ["en"], fallback=True)


_CATALOGUE = catalogue(os.environ)


def _(message: str) -> str:
    """Translate a literal; write `_("{n} GPUs free").format(n=n)`, never an f-string."""
    return _CATALOGUE.gettext(message)


def ngettext(one: str, many: str, n: int) -> str:
    """Translate a literal with a plural; `n` chooses the form and is filled in by the caller."""
    return _CATALOGUE.ngettext(one, many, n)


def spoken_language() -> str:
    """Name the language of all words, as HTML's `lang` writes it: `en`, `zh-CN`."""
    if isinstance(_CATALOGUE, _Pseudo):
        return "en-XA"
    info = _CATALOGUE.info() if isinstance(_CATALOGUE, _gettext.GNUTranslations) else {}
    return info.get("language", "en").replace("_", "-")

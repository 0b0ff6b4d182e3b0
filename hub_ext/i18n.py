"""Gettext for every word a person may read. Strings are literal; figures come by `.format`."""

import gettext as _gettext
from pathlib import Path

_CATALOGUE = _gettext.translation(
    "gpu_commons", localedir=Path(__file__).parent / "locale", fallback=True
)


def _(message: str) -> str:
    """Translate a literal; write `_("{n} GPUs free").format(n=n)`, never an f-string."""
    return _CATALOGUE.gettext(message)


def ngettext(one: str, many: str, n: int) -> str:
    """Translate a literal with a plural; `n` chooses the form and is filled in by the caller."""
    return _CATALOGUE.ngettext(one, many, n)

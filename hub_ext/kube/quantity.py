"""Kubernetes quantities as whole numbers: it writes 84000 units as "84k", never as we did."""

import re
from fractions import Fraction

from ..errors import UnitError
from ..i18n import _

_FORM = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))(?P<suffix>[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,2}|)",
    re.ASCII,
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def whole(text: str) -> int:
    """Read a quantity and round it up, as Kubernetes does with what it counts in ones.

    Raises
    ------
    UnitError
        If it is no quantity.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise UnitError(_("{text} is no quantity of Kubernetes").format(text=repr(text)))
    suffix = found["suffix"]
    if suffix in _BINARY:
        factor = Fraction(2) ** _BINARY[suffix]
    elif suffix in _DECIMAL:
        factor = Fraction(10) ** _DECIMAL[suffix]
    else:
        factor = Fraction(10) ** int(suffix[1:])
    return -(-(Fraction(found["number"]) * factor) // 1)

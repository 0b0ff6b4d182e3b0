"""What is wrong with a policy: a problem by path, and the same as a line that names its place.

A problem says what is and what to do; it never stops the search for the next one.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Literal, NamedTuple

from ..i18n import _
from ..lease import Value

Step = str | int
Path = tuple[Step, ...]
Severity = Literal["error", "warning"]

_LONGEST_ECHO = 80
_MOST_LISTED = 12


class Problem(NamedTuple):
    """One fault of a policy, before its place in the text is known.

    `path` holds names as the file has them (`from`, not `from_`) and list indexes.
    """

    path: Path
    severity: Severity
    message: str
    remedy: str


class Finding(Value):
    """One fault of a policy file. `line` and `column` count from 1."""

    severity: Severity
    path: str
    line: int
    column: int
    message: str
    remedy: str

    def text(self, file: str) -> str:
        """Write it as one line, as compilers do, so that editors can jump to the place."""
        where = f"{file}:{self.line}:{self.column}: {self.severity}: "
        what = f"{self.path}: {self.message}" if self.path else self.message
        return where + (f"{what}; {self.remedy}" if self.remedy else what)


def error(path: Path, message: str, remedy: str = "") -> Problem:
    """Make a problem with which the policy is refused."""
    return Problem(path, "error", message, remedy)


def warning(path: Path, message: str, remedy: str = "") -> Problem:
    """Make a problem that is listed, while the policy may still act."""
    return Problem(path, "warning", message, remedy)


def path_text(path: Iterable[Step]) -> str:
    """Write a path as people do: `teams.vision.quota`, `prices[2].from`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{printable(step)}" if text else printable(step)
    return text


def printable(text: str, most: int = _LONGEST_ECHO) -> str:
    """Shorten text from a file and keep it on one line of visible characters."""
    seen = "".join(c if c.isprintable() else "�" for c in text[:most])
    return seen if len(text) <= most else f"{seen}…"


def quoted(value: object) -> str:
    """Write a value from a file within quotes, short and on one line."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{printable(text)}'"


def listed(names: Iterable[str]) -> str:
    """Write names in quotes with commas; a long list is cut off and says so."""
    every = [quoted(name) for name in names]
    rest = len(every) - _MOST_LISTED
    shown = ", ".join(every[:_MOST_LISTED])
    return shown if rest <= 0 else _("{shown} and {n} more").format(shown=shown, n=rest)


def nearest(name: str, known: Sequence[str]) -> str:
    """Say which known name was perhaps meant, else which there are."""
    if not known:
        return _("there is none yet; add it or take this away")
    near = get_close_matches(name[:_LONGEST_ECHO], known, n=1)
    if near:
        return _("did you mean {name}?").format(name=quoted(near[0]))
    return _("there is {known}").format(known=listed(known))

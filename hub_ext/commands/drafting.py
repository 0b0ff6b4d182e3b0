"""How a policy is drafted as text: names, quoted words, and `# CHECK:` where a person must look."""

import json
import re

_PLAIN_KEY = re.compile(r"[a-z][a-z0-9-]*")
_YAML_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


OPENING = """\
version: 1
currency: EUR # CHECK: the currency of your prices.
timezone: UTC # CHECK: the zone in which your days and months begin, for example Europe/Paris.

# Nothing is refused or stopped yet but for a device that is not free: what would have been
# decided is recorded. Change these to `advise` or `enforce` when you agree with it.
modes:
  quota: observe
  idle: observe
"""
"""What every draft begins with, behind its own words on where it comes from."""

IDLE = """\

# CHECK: when a server counts as idle, and how long it is warned.
idle:
  whole: { applies: [gpu], limit: 1h, notice: 15m }
  slices: { applies: [mig], limit: 2h, notice: 15m }
"""
"""Rules on idleness for a draft."""


def check(words: str, indent: int = 2) -> str:
    """Write a comment that asks a person to look."""
    return f"{' ' * indent}# CHECK: {printable(words)}."


def text(words: str) -> str:
    """Quote a text so that YAML reads exactly it."""
    return json.dumps(printable(words), ensure_ascii=False)


def key(name: str) -> str:
    """Write a name as it is where YAML reads text in it, else in quotes: `0` and `no` are none."""
    plain = _PLAIN_KEY.fullmatch(name) and name not in _YAML_WORDS
    return name if plain else text(name)


def printable(words: str) -> str:
    """Put words on one line of visible characters."""
    return " ".join("".join(one if one.isprintable() else " " for one in words).split())


def free(name: str, taken: set[str]) -> str:
    """Make a name that is not taken by counting up."""
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name[:56]}-{number}"
    return candidate

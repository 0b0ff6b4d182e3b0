"""A word of an administrator on one policy text: who, why, and which text by its SHA-256.

`gpu-commons policy` leaves it in the state directory, which only the hub's user can write, and the
governor takes it from there once. So it needs neither hub nor network, and waits while none lives.
"""

import os
from contextlib import suppress
from pathlib import Path

from pydantic import AwareDatetime, ValidationError

from ...lease import Actor, Value

FILE = "consent.json"
"""Its name in the state directory."""


class Consent(Value):
    """One word. `reason` becomes the first line of the generation's summary."""

    sha256: str
    reason: str
    actor: Actor
    at: AwareDatetime


def leave(state: Path, consent: Consent) -> None:
    """Write the word, in one step; it replaces one that was not taken yet."""
    draft = state / f"{FILE}.{os.getpid()}"
    made = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(made, "w", encoding="utf-8") as stream:
        stream.write(consent.model_dump_json())
    draft.replace(state / FILE)


def found(state: Path) -> Consent | None:
    """Read the word; None where there is none, or what is there is none."""
    try:
        return Consent.model_validate_json((state / FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def taken(state: Path, consent: Consent) -> None:
    """Remove a word that was followed, so that it counts once; another one stays."""
    if found(state) == consent:
        with suppress(OSError):
            (state / FILE).unlink()

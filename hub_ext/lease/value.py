"""What a lease was for and what came of it, as its owner says: free text stays in the team."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, StringConstraints

from .words import LeaseId, ShortText, Value

Outcome = Literal["useful", "failed", "abandoned"]
"""What came of a lease, in its owner's judgement."""

MOST_PURPOSE = 200
"""Characters of a purpose: a sentence."""

Sentence = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, max_length=MOST_PURPOSE, pattern=r"^[^\x00-\x1f\x7f]*$"
    ),
]
"""One line of plain text."""

Link = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, max_length=500, pattern=r"^(https?://[^\s\x00-\x1f\x7f<>\"']+)?$"
    ),
]
"""Address of a result on the web; empty for none."""

SAID = "value.said"
"""Kind of the event whose body is all that is said of a lease by now: `{"v": 1, "said": {…}}`."""


class Said(Value):
    """All that was said of a lease; each change is one event that carries the whole of it."""

    purpose: Sentence = ""
    outcome: Outcome | None = None
    link: Link = ""


class ValueWish(Value):
    """`POST leases/{lease_id}/value`: what to say of it; what is absent stays as it was."""

    purpose: Sentence | None = None
    outcome: Outcome | None = None
    link: Link | None = None


class LeaseValue(Value):
    """`GET leases/{lease_id}/value`: what was said of a lease.

    `purpose` and `link` are None for whoever is not of the team, whatever was said.
    """

    lease_id: LeaseId
    has_purpose: bool
    outcome: Outcome | None
    has_link: bool
    value_class: ShortText | None = None
    """Class of its project when it started; None is unlabelled."""
    purpose: Annotated[str, Field(max_length=MOST_PURPOSE)] | None = None
    link: str | None = None
    said_at: AwareDatetime | None = None
    """When anything was said last; None where nothing was."""

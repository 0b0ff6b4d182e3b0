"""What is odd about how GPUs are used: told to leads and admins, with whose it is and its money."""

from typing import Literal

from pydantic import AwareDatetime

from .words import DeviceId, LeaseId, PoolName, ShortText, TeamName, UserName, Value

AnomalyKind = Literal[
    "hoarding",
    "never_used",
    "pool_share",
    "dear",
    "outside",
    "forgotten",
    "gap",
    "unallocated",
    "gaming",
]

AnomalyAct = Literal["notice", "ask", "quarantine", "stop", "close"]
"""Tell its owner; ask them why; give a device to nobody; stop with notice; end the lease now."""


class Anomaly(Value):
    """One episode of something odd: from when it began until it is over.

    `owner` is None where nobody is known whose it is; then it is the site's own.
    """

    id: ShortText
    kind: AnomalyKind
    subject: ShortText
    """What it is about: a lease, device, machine, server or pool."""
    words: str
    began: AwareDatetime
    seen_at: AwareDatetime
    """When it was last found."""
    ended: AwareDatetime | None = None
    figure: int
    """How large it was when last found, in the unit of its kind: bytes, percent, seconds, units."""
    peak: int
    """The largest `figure` of the episode."""
    owner: UserName | None = None
    teams: tuple[TeamName, ...] = ()
    """Whose leads are told."""
    leases: tuple[LeaseId, ...] = ()
    device: DeviceId | None = None
    node: ShortText = ""
    """Machine of the device."""
    pool: PoolName | None = None
    money_micro: int | None = None
    """What it stands for since it began; None where no price is in force."""
    currency: ShortText = ""
    act: AnomalyAct
    """What is proposed."""
    can: tuple[AnomalyAct, ...] = ()
    """What whoever asks may do about it here."""


class AnomalySheet(Value):
    """`GET anomalies`: what is odd now, the dearest first, and what was within the last week."""

    at: AwareDatetime
    open: tuple[Anomaly, ...] = ()
    ended: tuple[Anomaly, ...] = ()

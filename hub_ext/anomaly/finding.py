"""One odd thing as it is found, before it is an episode."""

from dataclasses import dataclass
from datetime import datetime

from ..lease import DeviceId, OpenLease, PoolName, TeamName, UserName
from ..lease.anomalies import AnomalyAct, AnomalyKind


@dataclass(frozen=True)
class Finding:
    """One odd thing now; `key` tells it from every other."""

    kind: AnomalyKind
    subject: str
    since: datetime
    figure: int
    words: str
    act: AnomalyAct
    leases: tuple[OpenLease, ...] = ()
    owner: UserName | None = None
    teams: tuple[TeamName, ...] = ()
    device: DeviceId | None = None
    node: str = ""
    pool: PoolName | None = None
    micro_per_hour: int | None = None
    """What an hour of it stands for, where that is not what the leases cost."""

    @property
    def key(self) -> tuple[str, str]:
        """What is odd, and about what."""
        return (self.kind, self.subject)


def whose(lease: OpenLease) -> dict[str, object]:
    """Whose a lease is, as a finding names it."""
    return {
        "leases": (lease,),
        "owner": lease.key.user,
        "teams": (lease.team,),
        "pool": lease.pool,
    }


def about(kind: AnomalyKind, lease: OpenLease, **more: object) -> Finding:
    """Make a finding about one lease."""
    return Finding(kind=kind, subject=lease.id, **{**whose(lease), **more})  # type: ignore[arg-type]

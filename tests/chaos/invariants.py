"""What must hold after a run, each rule with its breaches. It looks, and changes nothing."""

from collections import defaultdict

from hub_ext.lease import NEEDS_PROOF, LeaseState, OpenLease, Posting
from hub_ext.metering import NO_TEAMS
from tests.chaos import clocks, record
from tests.chaos.faults import Turmoil
from tests.chaos.record import Breach
from tests.chaos.site import Site, servers
from tests.support.hub import RealHub

LOST = "lease without its server"
DOUBLED = "server without its lease"
ORPHAN = "process that belongs to no open lease"
STRANDED = "lease or device still held after everybody stopped"
HUB_FAILED = "failed start that the hub counted"
HUB_ENDED = "hub that ended by itself"
UNVERIFIED = "ledger that does not verify"

RULES = (
    LOST,
    DOUBLED,
    ORPHAN,
    record.DOUBLE_DEVICE,
    record.DOUBLE_LEASE,
    record.OVER_LIMIT,
    record.WRONG_STEP,
    clocks.FAVOUR,
    clocks.SHORT,
    clocks.FREE,
    clocks.UNKNOWN,
    STRANDED,
    HUB_FAILED,
    HUB_ENDED,
    UNVERIFIED,
)
"""Every rule, in the order in which it is printed."""


def agreement(hub: RealHub) -> list[Breach]:
    """Compare ledger, hub and processes as they are now."""
    leases = {key: lease for key, lease in hub.leases().items() if lease.state in NEEDS_PROOF}
    ready = {
        f"{user['name']}/"
        for user in hub.rest("GET", "/users?state=active&limit=200").json
        if user["servers"].get("", {}).get("ready")
    }
    living = {process.pid for process in servers(hub)}
    breaches = [
        (LOST, f"{key}: {lease.id} is {lease.state}, process {_pid(lease)}")
        for key, lease in leases.items()
        if lease.state is not LeaseState.running or key not in ready or _pid(lease) not in living
    ]
    breaches += [(DOUBLED, key) for key in sorted(ready - leases.keys())]
    owned = {_pid(lease) for lease in leases.values()}
    breaches += [(ORPHAN, f"process {pid}") for pid in sorted(living - owned)]
    return breaches


def stranded(hub: RealHub) -> list[Breach]:
    """Say what is still held, once everybody has stopped."""
    left = [
        (STRANDED, f"{lease.id} of {key} is {lease.state}") for key, lease in hub.leases().items()
    ]
    return left + [(STRANDED, device) for device in hub.held_devices()]


def afterwards(turmoil: Turmoil) -> list[Breach]:
    """Go through ledger, books and clocks once all leases are closed."""
    site = turmoil.site
    hub = site.hub
    rows = hub.events()
    breaches = record.replay(rows)
    books = clocks.Books(
        record.last_values(rows), charged(site), site.offset_at, tuple(site.watch.away)
    )
    breaches += books.compare(clocks.runs(site.folder.clocks, site.watch.lived))
    breaches += [
        (HUB_FAILED, f"{reason}: {count}") for reason, count in turmoil.hub_failures.items()
    ]
    breaches += [(HUB_ENDED, f"at {at:.0f}") for at in turmoil.unasked_ends]
    verified = hub.command("ledger", "verify", "--state", str(hub.state))
    if verified.returncode:
        breaches.append((UNVERIFIED, verified.stdout + verified.stderr))
    return breaches


def charged(site: Site) -> dict[str, tuple[float, float]]:
    """When its team's charges of each lease begin and end, in seconds since 1970."""
    spans: dict[str, list[float]] = defaultdict(list)
    for _kind, _lease_id, body in site.hub.events("charge.posted"):
        for line in map(Posting.model_validate, body["postings"]):
            if line.team not in NO_TEAMS:
                spans[line.lease_id] += [line.start.timestamp(), line.end.timestamp()]
    return {lease_id: (min(known), max(known)) for lease_id, known in spans.items()}


def _pid(lease: OpenLease) -> int | None:
    return lease.process.pid if lease.process else None

"""From when on something odd about the use of GPUs is told to leads and admins."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from ..words import Count, Gpus, Lasting, Part, Price, Span

Percent = Annotated[Count, Field(le=100)]


class Anomalies(Part):
    """When something counts as an anomaly. It is told to leads and admins; nothing stops by it."""

    hoarding: Lasting = timedelta(hours=2)
    """Memory of a GPU is held and nothing runs on it for so long. Default 2h: longer than the idle
    limit of most rules, so that what an idle rule stops by itself is not told as well."""
    hoarding_percent: Percent = 10
    """Share of the GPU's memory from which it counts as held. Default 10: a context alone is less.
    """
    never_used: Lasting = timedelta(hours=1)
    """No GPU of a server was ever used since it started so long ago. Default 1h: data and first
    imports take minutes; of reserved GPUs that are not touched by then most never are."""
    pool_percent: Percent = 50
    """Share of a pool that one person holds. Default 50: most of it."""
    pool_least: Gpus = 4 * 840
    """Pools with less in service are not looked at for that. Default "4": of two GPUs half is one
    server."""
    pool_for: Span = timedelta(hours=1)
    """For how long. Default 1h: whoever changes servers holds both for a while."""
    dear_times: Count = 3
    """A lease that has cost so many times what most leases of its profile cost in the last 30
    days. Default 3: half as long again is ordinary."""
    dear_least: Price = 20_000_000
    """Leases that have cost less are not looked at for that, in units of the currency. Default
    "20": what is three times nothing concerns nobody."""
    dear_alike: Count = 8
    """How many ended leases of the profile there must be. Default 8: of fewer nobody knows what is
    usual."""
    outside: Span = timedelta(minutes=2)
    """A process has used a GPU without a lease for it so long. Default 2m: ends and starts overlap
    for seconds."""
    forgotten: Span = timedelta(minutes=2)
    """A server that the hub has forgotten lives for so long. Default 2m: it is told to end within
    one."""
    gap: Lasting = timedelta(minutes=15)
    """No figure of a device in use, or no word of its machine, for so long. Default 15m: a restart
    of the agent, or of its machine, takes less."""
    unallocated: Lasting = timedelta(hours=24)
    """GPUs in service that nobody held for so long. Default 24h: a night is no waste of anybody's.
    """
    unallocated_least: Gpus = 840
    """Less than this is not told. Default "1": the rest of a cut GPU fits nobody."""
    gaming: Lasting = timedelta(hours=12)
    """A GPU has looked busy for so long, computed next to nothing, and nobody was at the server.
    Told to administrators alone; at most `24h`, for which readings are kept. Default 12h: long
    enough that no pause of anybody's work looks so."""
    settle: Span = timedelta(minutes=10)
    """What comes again within so long is the same anomaly. Default 10m: one that comes and goes is
    told once."""

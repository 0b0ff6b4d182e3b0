"""What all readings of one device or lease over a stretch of time have in common, by one query."""

from datetime import datetime

from sqlalchemy import Connection, and_, case, func, or_, select

from ..anomaly import USED_PERCENT, Life, Spell, Tasks
from ..lease import DeviceId, LeaseId
from ..units import instant_us
from .readings import process_sample, rollup_hour, sample
from .schema import instant


def spell(connection: Connection, device: DeviceId, since: datetime) -> Spell:
    """Sum up the readings of a device since an instant."""
    of = sample.c
    both = and_(of.util_percent.is_not(None), of.memory_used_bytes.is_not(None))
    gauged = and_(of.sm_percent.is_not(None), of.dram_percent.is_not(None))
    some = or_(of.util_percent.is_not(None), of.memory_used_bytes.is_not(None))
    query = select(
        func.count().label("readings"),
        func.count(case((both, 1))).label("known"),
        func.min(of.at).label("first_at"),
        func.max(of.at).label("last_at"),
        func.max(of.util_percent).label("most_percent"),
        func.min(of.memory_used_bytes).label("least_bytes"),
        func.max(of.memory_used_bytes).label("most_bytes"),
        func.max(of.memory_total_bytes).label("total_bytes"),
        func.max(case((some, of.at))).label("known_at"),
        func.count(case((of.util_percent >= USED_PERCENT, 1))).label("busy"),
        func.count(case((gauged, 1))).label("gauged"),
        func.max(of.sm_percent).label("most_sm"),
        func.max(of.dram_percent).label("most_dram"),
    ).where(of.device == device, of.at >= instant_us(since))
    row = connection.execute(query).one()
    return Spell(
        readings=row.readings,
        known=row.known,
        first_at=_instant(row.first_at),
        last_at=_instant(row.last_at),
        most_percent=row.most_percent,
        least_bytes=row.least_bytes,
        most_bytes=row.most_bytes,
        total_bytes=row.total_bytes,
        known_at=_instant(row.known_at),
        busy=row.busy,
        gauged=row.gauged,
        most_sm=row.most_sm,
        most_dram=row.most_dram,
    )


def tasks(connection: Connection, lease_id: LeaseId, since: datetime) -> Tasks:
    """Sum up the readings of a lease's processes since an instant."""
    of = process_sample.c
    query = select(
        func.count().label("readings"),
        func.count(of.cpu_millis).label("known"),
        func.avg(of.cpu_millis).label("mean_millis"),
    ).where(of.lease_id == lease_id, of.at >= instant_us(since))
    row = connection.execute(query).one()
    mean = None if row.mean_millis is None else int(row.mean_millis)
    return Tasks(readings=row.readings, known=row.known, mean_millis=mean)


def life(connection: Connection, lease_id: LeaseId) -> Life:
    """Sum up a lease's whole life from the hourly sums; several devices count as one."""
    of = rollup_hour.c
    query = select(
        func.coalesce(func.sum(of.sampled_ms), 0).label("sampled_ms"),
        func.max(of.peak_percent).label("peak_percent"),
        func.count(of.device.distinct()).label("devices"),
    ).where(of.lease_id == lease_id)
    row = connection.execute(query).one()
    sampled_s = int(row.sampled_ms) // (1000 * max(1, row.devices))
    return Life(sampled_s=sampled_s, peak_percent=row.peak_percent if sampled_s else None)


def _instant(at: int | None) -> datetime | None:
    return None if at is None else instant(at)

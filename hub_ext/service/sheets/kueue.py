"""What administrators see of Kueue: what is wrong there, and the jobs that share its queues."""

from collections.abc import Iterable
from dataclasses import dataclass

from ...i18n import _
from ...lease import BatchLoad
from ...units import gpus_text
from ..books import formats


@dataclass(frozen=True)
class BatchRow:
    """One job in words."""

    name: str
    team: str
    pool: str
    gpus: str
    state: str
    since: str


def sheet(batch: Iterable[BatchLoad], faults: Iterable[str], zone: str) -> dict[str, object]:
    """Put it into words."""
    return {"kueue_faults": tuple(faults), "jobs": tuple(_row(one, zone) for one in batch)}


def _row(one: BatchLoad, zone: str) -> BatchRow:
    return BatchRow(
        name=f"{one.namespace}: {one.name}",
        team=one.team if one.project is None else f"{one.team}, {one.project}",
        pool=one.pool,
        gpus=gpus_text(one.units),
        state=_state(one),
        since=formats.instant(one.since, zone),
    )


def _state(one: BatchLoad) -> str:
    if one.called_in:
        return _("ends: Kueue has taken its quota")
    return _("holds GPUs") if one.holds else _("waits")
